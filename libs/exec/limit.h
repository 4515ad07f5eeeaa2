#pragma once

/// How many calls of one kind may run at once, found by itself: more while calls take at most three
/// times as long as the quickest seen, fewer when they get slower by running together. It settles
/// at about four calls for each core where they only compute, and goes on growing for calls that
/// wait. A call that takes much longer than the typical one stops counting, so that a hung pod
/// never takes a place from others.
/// Threads: Limit, Permit any; LimitCore one at a time.
/// Errors: Acquire gives DEADLINE_EXCEEDED or CANCELLED.
/// Source: docs/design.md, "Threads and time".

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::exec {

/// Three for each core of this machine, and 4 at least: a burst is often over before much is
/// learnt.
double DefaultInitial();

struct LimitOptions {
  double min = 2;
  double max = 64;
  double initial = DefaultInitial();
  int slow_multiple = 4;  // of the median, then a call stops counting,
  Duration slow_at_least = std::chrono::milliseconds{100};  // but not before this,
  Duration slow_unmeasured =
      std::chrono::seconds{1};  // nor, with nothing measured yet, before this
  size_t max_running = 256;     // slow ones included
};

/// The decision, without waiting.
class LimitCore {
 public:
  using Ticket = uint64_t;
  explicit LimitCore(LimitOptions options) : options_(options), limit_(options.initial) {}

  bool MayStart(Clock::Time now) const;
  Ticket Start(Clock::Time now);
  /// `measure` false: it failed, so that its time says nothing.
  void Finish(Ticket ticket, Clock::Time now, bool measure);
  /// When the oldest of the counting calls stops counting; no time when none counts.
  Clock::Time NextSlow(Clock::Time now) const;
  double limit() const { return limit_; }
  size_t running() const { return running_.size(); }

 private:
  Duration SlowAfter() const;
  size_t Counting(Clock::Time now) const;
  void Adapt();

  const LimitOptions options_;
  double limit_;
  Ticket last_ = 0;
  struct Call {
    Clock::Time started;
    size_t beside = 0;  // most that ran at once during it, itself included
    bool full = false;  // the limit was reached during it
  };
  std::map<Ticket, Call> running_;
  std::deque<Duration> recent_;   // for the median
  std::vector<Duration> window_;  // since the limit was last looked at
  bool full_ = false;             // for a call of this window
  Duration quickest_{0};          // what a call takes with few beside it, as far as it was seen
};

class Permit {
 public:
  explicit Permit(std::function<void(bool measure)> finish) : finish_(std::move(finish)) {}
  ~Permit() {
    if (finish_) finish_(measure_);
  }
  Permit(Permit&& other) noexcept
      : finish_(std::exchange(other.finish_, nullptr)), measure_(other.measure_) {}
  Permit& operator=(Permit&&) = delete;
  /// The call failed: its time is no measure.
  void Failed() { measure_ = false; }

 private:
  std::function<void(bool)> finish_;
  bool measure_ = true;
};

class Limit {
 public:
  virtual ~Limit() = default;
  /// Blocks until the call may start; hold the permit while it runs.
  virtual StatusOr<Permit> Acquire(const Deadline& deadline) = 0;
};

/// For the simulation, where tasks run one at a time anyway.
class NoLimit final : public Limit {
 public:
  StatusOr<Permit> Acquire(const Deadline&) override { return Permit(nullptr); }
};

/// Waiters start in the order in which they came. Outlives its permits. `clock` is a RealClock.
class AdaptiveLimit final : public Limit {
 public:
  AdaptiveLimit(const Clock& clock, LimitOptions options) : clock_(clock), core_(options) {}
  StatusOr<Permit> Acquire(const Deadline& deadline) override;
  double limit() const;

 private:
  /// Each wakes alone: a burst of n would else make n times n wakeups.
  struct Waiter {
    std::condition_variable wake;
    bool given_up = false;  // guarded by mutex_
  };
  Status WaitForTurn(Waiter& me, Clock::Time end, std::unique_lock<std::mutex>& lock);
  void WakeNext();
  const Clock& clock_;
  mutable std::mutex mutex_;
  LimitCore core_;
  std::deque<Waiter*> waiting_;  // each stands on the stack of its Acquire
};

}  // namespace splitlet::exec
