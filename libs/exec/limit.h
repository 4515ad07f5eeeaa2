#pragma once

/// How many calls of one kind may run at once, found by itself: more while calls take at most twice
/// as long as the quickest seen, fewer when they get slower by running together. It settles at
/// about three calls for each core where they only compute, and goes on growing for calls that
/// wait. A call that takes much longer than the typical one stops counting, so that a hung pod
/// never takes a place from others.
/// Threads: AdaptiveLimit, Permit any; LimitCore one at a time.
/// Errors: Acquire and Begin give DEADLINE_EXCEEDED or CANCELLED.
/// Source: docs/design.md, "Threads and time".

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/exec/exec.h"

namespace splitlet::exec {

/// One for each core of this machine, and 2 at least.
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
  /// The server soon hands such a call on, and it waits for something else. Its time says nothing
  /// of the server: the limit stays as it is, and a call counts for twice `slow_at_least`, or once
  /// when half of the last few took longer than `slow_unmeasured`; `max_running` is not for it.
  bool waits = false;
};

/// The decision, without waiting.
class LimitCore {
 public:
  using Ticket = uint64_t;
  explicit LimitCore(const LimitOptions& options);

  bool MayStart(Clock::Time now) const;
  Ticket Start(Clock::Time now);
  /// `measure` false: it failed, so that its time says nothing.
  void Finish(Ticket ticket, Clock::Time now, bool measure);
  /// When the oldest of the counting calls stops counting; no time when none counts.
  Clock::Time NextSlow(Clock::Time now) const;
  double limit() const { return limit_; }
  size_t running() const { return running_.size(); }

 private:
  struct Call {
    Clock::Time started;
    size_t beside = 0;  // most that ran at once during it, itself included
    bool full = false;  // the limit was reached during it
    bool slow = false;  // of those that wait: it was measured as one that took long
  };
  size_t Counting(Clock::Time now) const;
  void Remember(Duration took);
  /// Those that wait tell nothing until they end.
  void RememberSlow(Clock::Time now);
  void Adapt();

  const LimitOptions options_;
  double limit_;
  Ticket last_ = 0;
  std::map<Ticket, Call> running_;
  std::deque<Duration> recent_;   // for the median
  Duration counts_for_;           // follows it
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

/// Waiters start in the order of their places in line. Outlives its permits and waiters, and the
/// tasks of `loop`, whose timers tell it when calls have become slow.
class AdaptiveLimit {
 public:
  using Begun = std::function<void(StatusOr<Permit>)>;
  AdaptiveLimit(const Clock& clock, EventLoop& loop, const LimitOptions& options)
      : clock_(clock), loop_(loop), core_(options) {}
  /// Returns at once; `begun` is called once, on any thread, also on this one before Begin returns,
  /// and must not block. The permit is held while the call runs. `later`: it stands in line as if
  /// it came so much later.
  void Begin(const Deadline& deadline, Duration later, Begun begun);
  /// Blocks until the call may start. Not on the loop.
  StatusOr<Permit> Acquire(const Deadline& deadline);
  double limit() const;

 private:
  using Place = std::pair<Clock::Time, uint64_t>;  // when it came, or as if; and a number
  struct Waiter {
    Deadline deadline;
    Begun begun;
    int on_cancel = 0;
    Place place{};
    enum { kNew, kWaits, kAnswered } state = kNew;  // guarded by mutex_
  };
  struct Answer {
    std::shared_ptr<Waiter> waiter;
    StatusOr<Permit> permit;
  };
  void GiveUp(Waiter& waiter);
  /// Answers whoever may start, or has waited too long.
  void Pump();
  std::vector<Answer> TakeAnswers(Clock::Time now);
  Permit Start(Clock::Time now);
  void WakeLater(Clock::Time now);

  const Clock& clock_;
  EventLoop& loop_;
  mutable std::mutex mutex_;
  LimitCore core_;
  std::map<Place, std::shared_ptr<Waiter>> waiting_;
  uint64_t last_ = 0;
  Clock::Time wakes_at_;  // of the timer set last
  bool pumping_ = false, again_ = false;
};

}  // namespace splitlet::exec
