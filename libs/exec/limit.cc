#include "libs/exec/limit.h"

#include <algorithm>

#include "libs/base/cancel.h"

namespace splitlet::exec {
namespace {

constexpr size_t kRecent = 64;
constexpr size_t kSmallestWindow = 8;
constexpr int kSlower = 2;  // a window this many times slower than the best one: too many at once
constexpr double kFewer = 0.75;
constexpr int kWindowsBetweenProbes = 50;

template <class Container>
Duration Median(const Container& values) {
  std::vector<Duration> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

Duration LimitCore::SlowAfter() const {
  if (recent_.empty()) return options_.slow_unmeasured;
  return std::max(options_.slow_at_least, options_.slow_multiple * Median(recent_));
}

size_t LimitCore::Counting(Clock::Time now) const {
  const Duration slow = SlowAfter();
  return static_cast<size_t>(std::count_if(running_.begin(), running_.end(), [&](const auto& call) {
    return now - call.second < slow;
  }));
}

bool LimitCore::MayStart(Clock::Time now) const {
  return running_.size() < options_.max_running && static_cast<double>(Counting(now)) + 1 <= limit_;
}

LimitCore::Ticket LimitCore::Start(Clock::Time now) {
  running_.emplace(++last_, now);
  if (static_cast<double>(Counting(now)) + 1 > limit_) used_fully_ = true;
  return last_;
}

void LimitCore::Finish(Ticket ticket, Clock::Time now, bool measure) {
  const auto it = running_.find(ticket);
  CHECK(it != running_.end(), "finished twice");
  const Duration took = now - it->second;
  running_.erase(it);
  if (!measure) return;
  recent_.push_back(took);
  if (recent_.size() > kRecent) recent_.pop_front();
  if (skip_ > 0) {
    --skip_;
    return;
  }
  window_.push_back(took);
  if (window_.size() >= std::max(kSmallestWindow, static_cast<size_t>(limit_))) Adapt();
}

void LimitCore::Adapt() {
  const Duration median = Median(window_);
  const bool used_fully = std::exchange(used_fully_, false);
  window_.clear();
  if (before_probe_ > 0) {
    quickest_ = median;
    limit_ = std::exchange(before_probe_, 0);
    return;
  }
  if (quickest_ == Duration{0} || median < quickest_) quickest_ = median;
  if (median > kSlower * quickest_) {
    limit_ = std::max(options_.min, limit_ * kFewer);
  } else if (used_fully) {
    const double more =
        median * 5 <= quickest_ * 6 ? limit_ / 2 : 1;  // far from too many: in big steps
    limit_ = std::min(options_.max, limit_ + more);
  }
  if (++windows_ % kWindowsBetweenProbes != 0) return;
  // What a call takes alone changes with the machine: measured anew with few at a time, without
  // those running now.
  before_probe_ = std::exchange(limit_, options_.min);
  skip_ = running_.size();
}

Clock::Time LimitCore::NextSlow(Clock::Time now) const {
  const Duration slow = SlowAfter();
  for (const auto& [ticket, started] : running_) {
    if (now - started < slow) return started + slow;
  }
  return {};
}

StatusOr<Permit> AdaptiveLimit::Acquire(const Deadline& deadline) {
  bool given_up =
      false;  // a copy of the token's state under our lock: asking the token here could deadlock
  const int token = deadline.cancel == nullptr ? 0 : deadline.cancel->Add([this, &given_up] {
    const std::lock_guard cancel_lock(mutex_);
    given_up = true;
    wake_.notify_all();
  });
  std::unique_lock lock(mutex_);
  const uint64_t me = ++last_waiter_;
  waiting_.push_back(me);
  const Status waited = WaitForTurn(Waiter{me, given_up}, deadline.at, lock);
  std::erase(waiting_, me);
  const LimitCore::Ticket ticket = waited.ok() ? core_.Start(clock_.Now()) : 0;
  lock.unlock();
  wake_.notify_all();  // the next in the line
  // Without the lock: the token's callback takes it.
  if (deadline.cancel != nullptr) deadline.cancel->Remove(token);
  RETURN_IF_ERROR(waited, "wait for a place among the running calls");
  return Permit([this, ticket](bool measure) {
    {
      const std::lock_guard finish_lock(mutex_);
      core_.Finish(ticket, clock_.Now(), measure);
    }
    wake_.notify_all();
  });
}

Status AdaptiveLimit::WaitForTurn(const Waiter& me, Clock::Time end,
                                  std::unique_lock<std::mutex>& lock) {
  while (true) {
    const Clock::Time now = clock_.Now();
    if (me.given_up) return Cancelled("given up");
    if (waiting_.front() == me.number && core_.MayStart(now)) return OkStatus();
    if (now >= end) return DeadlineExceeded("too many calls run");
    const Clock::Time slow = core_.NextSlow(now);
    const Clock::Time until = slow && slow < end ? slow : end;
    wake_.wait_until(lock, std::chrono::steady_clock::time_point(until.monotonic));
  }
}

double AdaptiveLimit::limit() const {
  const std::lock_guard lock(mutex_);
  return core_.limit();
}

}  // namespace splitlet::exec
