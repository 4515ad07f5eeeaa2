#include "services/pod-worker/images/pull_queue.h"

#include "libs/base/status.h"

namespace splitlet::pod_worker {

std::optional<PullId> PullQueue::TakeNext(const std::function<bool(PullId)>& wanted) {
  while (!waiting_.empty() && !wanted(waiting_.front())) waiting_.pop_front();
  if (waiting_.empty() || IsFull() || !tokens_.Take()) return std::nullopt;
  const PullId next = waiting_.front();
  waiting_.pop_front();
  ++running_;
  return next;
}

void PullQueue::Done() {
  CHECK(running_ > 0, "a pull ended twice");
  --running_;
}

std::optional<Duration> PullQueue::NextIn() const {
  if (waiting_.empty() || IsFull()) return std::nullopt;
  return tokens_.NextIn();
}

}  // namespace splitlet::pod_worker
