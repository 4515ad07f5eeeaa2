#include "libs/exec/limit.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "libs/base/cancel.h"

namespace splitlet::exec {
namespace {

constexpr size_t kRecent = 64;
constexpr size_t kSmallestWindow = 4;
constexpr double kTolerated = 3;  // times slower than alone: no reason yet for fewer
constexpr double kFewest = 0.5;   // of the limit, after one window

template <class Container>
Duration Median(const Container& values) {
  std::vector<Duration> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

double DefaultInitial() { return std::max(4.0, 3.0 * std::thread::hardware_concurrency()); }

Duration LimitCore::SlowAfter() const {
  if (recent_.empty()) return options_.slow_unmeasured;
  return std::max(options_.slow_at_least, options_.slow_multiple * Median(recent_));
}

size_t LimitCore::Counting(Clock::Time now) const {
  const Duration slow = SlowAfter();
  return static_cast<size_t>(std::count_if(running_.begin(), running_.end(), [&](const auto& call) {
    return now - call.second.started < slow;
  }));
}

bool LimitCore::MayStart(Clock::Time now) const {
  return running_.size() < options_.max_running && static_cast<double>(Counting(now)) + 1 <= limit_;
}

LimitCore::Ticket LimitCore::Start(Clock::Time now) {
  running_.emplace(++last_, Call{.started = now});
  const bool full = static_cast<double>(Counting(now)) + 1 > limit_;
  for (auto& [ticket, call] : running_) {
    call.beside = std::max(call.beside, running_.size());
    call.full = call.full || full;
  }
  return last_;
}

void LimitCore::Finish(Ticket ticket, Clock::Time now, bool measure) {
  const auto it = running_.find(ticket);
  CHECK(it != running_.end(), "finished twice");
  const Call call = it->second;
  const Duration took = now - call.started;
  running_.erase(it);
  if (!measure) return;
  // What a call takes alone changes with the machine.
  if (quickest_ == Duration{0}) quickest_ = took;
  if (static_cast<double>(call.beside) <= options_.min) quickest_ += (took - quickest_) / 4;
  full_ = full_ || call.full;
  recent_.push_back(took);
  if (recent_.size() > kRecent) recent_.pop_front();
  window_.push_back(took);
  if (window_.size() >= std::max(kSmallestWindow, static_cast<size_t>(limit_ / 2))) Adapt();
}

// The gradient rule: the limit follows how much slower calls have become, and always tries a few
// more (the square root of the limit), so that it climbs quickly from a low one and settles where
// the two meet.
void LimitCore::Adapt() {
  const Duration median = Median(window_);
  const bool full = std::exchange(full_, false);
  window_.clear();
  quickest_ = std::min(quickest_, median);
  if (!full) return;
  const double slower = static_cast<double>(std::max(median, Duration{1}).count()) /
                        static_cast<double>(std::max(quickest_, Duration{1}).count());
  const double next = limit_ * std::clamp(kTolerated / slower, kFewest, 1.0) + std::sqrt(limit_);
  limit_ = std::clamp(next, options_.min, options_.max);
}

Clock::Time LimitCore::NextSlow(Clock::Time now) const {
  const Duration slow = SlowAfter();
  for (const auto& [ticket, call] : running_) {
    if (now - call.started < slow) return call.started + slow;
  }
  return {};
}

StatusOr<Permit> AdaptiveLimit::Acquire(const Deadline& deadline) {
  // A copy of the token's state under our lock: asking the token here could deadlock.
  Waiter me;
  const int token = deadline.cancel == nullptr ? 0 : deadline.cancel->Add([this, &me] {
    const std::lock_guard cancel_lock(mutex_);
    me.given_up = true;
    me.wake.notify_one();
  });
  std::unique_lock lock(mutex_);
  waiting_.push_back(&me);
  const Status waited = WaitForTurn(me, deadline.at, lock);
  std::erase(waiting_, &me);
  const LimitCore::Ticket ticket = waited.ok() ? core_.Start(clock_.Now()) : 0;
  WakeNext();
  lock.unlock();
  // Without the lock: the token's callback takes it.
  if (deadline.cancel != nullptr) deadline.cancel->Remove(token);
  RETURN_IF_ERROR(waited, "wait for a place among the running calls");
  return Permit([this, ticket](bool measure) {
    const std::lock_guard finish_lock(mutex_);
    core_.Finish(ticket, clock_.Now(), measure);
    WakeNext();
  });
}

void AdaptiveLimit::WakeNext() {
  if (!waiting_.empty()) waiting_.front()->wake.notify_one();
}

Status AdaptiveLimit::WaitForTurn(Waiter& me, Clock::Time end, std::unique_lock<std::mutex>& lock) {
  while (true) {
    const Clock::Time now = clock_.Now();
    if (me.given_up) return Cancelled("given up");
    const bool first = waiting_.front() == &me;
    if (first && core_.MayStart(now)) return OkStatus();
    if (now >= end) return DeadlineExceeded("too many calls run");
    const Clock::Time slow = first ? core_.NextSlow(now) : Clock::Time{};
    const Clock::Time until = slow && slow < end ? slow : end;
    me.wake.wait_until(lock, std::chrono::steady_clock::time_point(until.monotonic));
  }
}

double AdaptiveLimit::limit() const {
  const std::lock_guard lock(mutex_);
  return core_.limit();
}

}  // namespace splitlet::exec
