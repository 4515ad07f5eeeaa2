#pragma once

/// How many calls of one kind may run at once, found by itself: more while calls stay as quick as
/// the quickest seen, fewer when they get slower by running together. A call that takes much longer
/// than the typical one stops counting, so that a hung pod never takes a place from the others.
/// Threads: Limit, Permit any; LimitCore one at a time. Errors: Acquire gives DEADLINE_EXCEEDED or
/// CANCELLED. Source: DESIGN.md "Threads and time" (100 pods at once: 8.7 s, four at a time: 7.2
/// s).

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

struct LimitOptions {
  double min = 2;
  double max = 64;
  double initial = 4;     // low, so that the first calls show how quick one is with few beside it
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
  std::map<Ticket, Clock::Time> running_;
  std::deque<Duration> recent_;   // for the median
  std::vector<Duration> window_;  // since the limit was last looked at
  bool used_fully_ = false;       // in this window
  Duration quickest_{0};          // median of the quickest window since the last probe
  double before_probe_ = 0;       // the limit to go back to; 0: no probe
  size_t skip_ = 0;               // calls to leave out: begun before the probe
  uint64_t windows_ = 0;
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
  struct Waiter {
    uint64_t number;
    const bool& given_up;  // guarded by mutex_
  };
  Status WaitForTurn(const Waiter& me, Clock::Time end, std::unique_lock<std::mutex>& lock);
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  LimitCore core_;
  std::deque<uint64_t> waiting_;
  uint64_t last_waiter_ = 0;
};

}  // namespace splitlet::exec
