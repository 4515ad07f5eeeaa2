#include "libs/exec/limit.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <thread>

#include "libs/base/cancel.h"

namespace splitlet::exec {
namespace {

constexpr size_t kRecent = 64;
constexpr size_t kRecentThatWait = 8;  // the next call often differs from the last ones
constexpr size_t kSmallestWindow = 4;
constexpr double kTolerated = 2;  // times slower than alone: no reason yet for fewer
constexpr double kFewest = 0.5;   // of the limit, after one window

template <class Container>
Duration Median(const Container& values) {
  std::vector<Duration> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

double DefaultInitial() {
  return std::max(2.0, static_cast<double>(std::thread::hardware_concurrency()));
}

LimitCore::LimitCore(const LimitOptions& options)
    : options_(options),
      limit_(std::clamp(options.initial, options.min, options.max)),
      counts_for_(options.waits ? options.slow_at_least : options.slow_unmeasured) {}

size_t LimitCore::Counting(Clock::Time now) const {
  return static_cast<size_t>(std::ranges::count_if(
      running_, [&](const auto& running) { return now - running.second.started < counts_for_; }));
}

bool LimitCore::MayStart(Clock::Time now) const {
  const bool bounded = options_.waits || running_.size() < options_.max_running;
  return bounded && static_cast<double>(Counting(now)) + 1 <= limit_;
}

LimitCore::Ticket LimitCore::Start(Clock::Time now) {
  RememberSlow(now);
  running_.emplace(++last_, Call{.started = now});
  const bool full = static_cast<double>(Counting(now)) + 1 > limit_;
  for (auto& [ticket, call] : running_) {
    call.beside = std::max(call.beside, running_.size());
    call.full = call.full || full;
  }
  return last_;
}

void LimitCore::Finish(Ticket ticket, Clock::Time now, bool measure) {
  RememberSlow(now);
  const auto it = running_.find(ticket);
  CHECK(it != running_.end(), "finished twice");
  const Call call = it->second;
  const Duration took = now - call.started;
  running_.erase(it);
  if (!measure || call.slow) return;
  Remember(took);
  if (options_.waits) return;
  // The duration of a call that runs alone changes with the machine.
  if (quickest_ == Duration{0}) quickest_ = took;
  if (static_cast<double>(call.beside) <= options_.min) quickest_ += (took - quickest_) / 4;
  full_ = full_ || call.full;
  window_.push_back(took);
  if (window_.size() >= std::max(kSmallestWindow, static_cast<size_t>(limit_ / 2))) Adapt();
}

void LimitCore::Remember(Duration took) {
  recent_.push_back(took);
  if (recent_.size() > (options_.waits ? kRecentThatWait : kRecent)) recent_.pop_front();
  const Duration median = Median(recent_);
  if (!options_.waits) {
    counts_for_ = std::max(options_.slow_at_least, options_.slow_multiple * median);
  } else {
    counts_for_ = options_.slow_at_least * (median < options_.slow_unmeasured ? 2 : 1);
  }
}

void LimitCore::RememberSlow(Clock::Time now) {
  if (!options_.waits) return;
  for (auto& [ticket, call] : running_) {
    if (call.slow || now - call.started < options_.slow_unmeasured) continue;
    call.slow = true;
    Remember(options_.slow_unmeasured);
  }
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
  Clock::Time next;
  for (const auto& [ticket, call] : running_) {
    const Clock::Time slow = call.started + counts_for_;
    if (slow > now && (!next || slow < next)) next = slow;
  }
  return next;
}

void AdaptiveLimit::Begin(const Deadline& deadline, Duration later, Begun begun) {
  const auto waiter =
      std::make_shared<Waiter>(Waiter{.deadline = deadline, .begun = std::move(begun)});
  if (deadline.cancel != nullptr)
    waiter->on_cancel = deadline.cancel->Add([this, weak = std::weak_ptr(waiter)] {
      if (const auto given_up = weak.lock()) GiveUp(*given_up);
    });
  {
    const std::lock_guard lock(mutex_);
    if (waiter->state == Waiter::kAnswered) return;
    waiter->state = Waiter::kWaits;
    waiter->place = {clock_.Now() + later, ++last_};
    waiting_.emplace(waiter->place, waiter);
  }
  Pump();
}

StatusOr<Permit> AdaptiveLimit::Acquire(const Deadline& deadline) {
  const auto got = std::make_shared<std::promise<StatusOr<Permit>>>();
  Begin(deadline, {}, [got](StatusOr<Permit> permit) { got->set_value(std::move(permit)); });
  return got->get_future().get();
}

/// Called by the token with its lock held, so this function does not touch the token.
void AdaptiveLimit::GiveUp(Waiter& waiter) {
  {
    const std::lock_guard lock(mutex_);
    if (waiter.state == Waiter::kAnswered) return;
    if (waiter.state == Waiter::kWaits) waiting_.erase(waiter.place);
    waiter.state = Waiter::kAnswered;
  }
  waiter.begun(Cancelled("given up"));
}

/// Answers may call Pump again: the running round handles that call.
void AdaptiveLimit::Pump() {
  std::unique_lock lock(mutex_);
  again_ = true;
  if (pumping_) return;
  pumping_ = true;
  while (std::exchange(again_, false)) {
    auto answers = TakeAnswers(clock_.Now());
    lock.unlock();
    for (auto& [waiter, permit] : answers) {
      if (waiter->deadline.cancel != nullptr) waiter->deadline.cancel->Remove(waiter->on_cancel);
      waiter->begun(std::move(permit));
    }
    answers.clear();  // what they hold may come here again as it ends
    lock.lock();
  }
  pumping_ = false;
  WakeLater(clock_.Now());
}

std::vector<AdaptiveLimit::Answer> AdaptiveLimit::TakeAnswers(Clock::Time now) {
  std::vector<Answer> answers;
  bool room = true;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const bool late = now >= it->second->deadline.at;
    if (!late) room = room && core_.MayStart(now);
    if (!late && !room) {
      ++it;
      continue;
    }
    it->second->state = Waiter::kAnswered;
    answers.push_back(
        {it->second, late ? StatusOr<Permit>(DeadlineExceeded("too many calls run")) : Start(now)});
    it = waiting_.erase(it);
  }
  return answers;
}

Permit AdaptiveLimit::Start(Clock::Time now) {
  return Permit([this, ticket = core_.Start(now)](bool measure) {
    {
      const std::lock_guard lock(mutex_);
      core_.Finish(ticket, clock_.Now(), measure);
    }
    Pump();
  });
}

void AdaptiveLimit::WakeLater(Clock::Time now) {
  if (waiting_.empty()) return;
  Clock::Time next = core_.NextSlow(now);
  for (const auto& [place, waiter] : waiting_)
    if (!next || waiter->deadline.at < next) next = waiter->deadline.at;
  if (wakes_at_ > now && wakes_at_ <= next) return;
  wakes_at_ = next;
  loop_.RunAfter(next - now, [this] { Pump(); });
}

double AdaptiveLimit::limit() const {
  const std::lock_guard lock(mutex_);
  return core_.limit();
}

}  // namespace splitlet::exec
