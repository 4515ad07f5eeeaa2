#include "libs/daemon/event_recorder.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace splitlet::daemon {
namespace {

constexpr Duration kGather = std::chrono::milliseconds{50};
constexpr Duration kRetry = std::chrono::seconds{2};

}  // namespace

void BatchingRecorder::Record(PodEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMaxWaiting) {
      deps_.on_dropped(1);
      return;
    }
    waiting_.push_back(std::move(event));
    if (std::exchange(scheduled_, true)) return;
  }
  SendSoon(kGather);
}

void BatchingRecorder::SendSoon(Duration delay) {
  deps_.loop.RunAfter(delay, [this] { deps_.strands.Run("events", [this] { SendBatch(); }); });
}

std::vector<PodEvent> BatchingRecorder::TakeBatch() {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMaxBatch));
  std::vector<PodEvent> batch(std::make_move_iterator(waiting_.begin()),
                              std::make_move_iterator(waiting_.begin() + count));
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  return batch;
}

/// Drops the newest events above the bound, as Record does.
void BatchingRecorder::PutBack(std::vector<PodEvent> batch) {
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.begin(), std::make_move_iterator(batch.begin()),
                  std::make_move_iterator(batch.end()));
  if (waiting_.size() <= kMaxWaiting) return;
  deps_.on_dropped(waiting_.size() - kMaxWaiting);
  waiting_.resize(kMaxWaiting);
}

void BatchingRecorder::SendBatch() {
  std::vector<PodEvent> batch = TakeBatch();
  const Status sent = deps_.send(batch);
  const bool again = !sent.ok() && IsRetryable(sent.code());
  if (sent.ok())
    deps_.on_sent(batch.size());
  else if (again)
    PutBack(std::move(batch));
  else
    deps_.on_dropped(batch.size());
  {
    const std::lock_guard lock(mutex_);
    scheduled_ = !waiting_.empty();
    if (!scheduled_) return;
  }
  SendSoon(again ? kRetry : kGather);
}

}  // namespace splitlet::daemon
