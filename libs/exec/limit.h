#pragma once

/// How many calls to one server may run at once, found by itself: more while calls take at most
/// twice as long as the quickest seen of their kind, fewer when they get slower by running
/// together. It settles at about three calls for each core where they only compute, and goes on
/// growing for calls that wait. A call that takes much longer than the typical one of its kind
/// stops counting, so that a hung pod never takes a place from others.
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

/// Of this machine, 1 at least.
double Cores();

struct CallKind {
  /// It goes before calls without one that came up to this much earlier, but waits for no others
  /// for longer than they would for it: nothing starves.
  Duration head_start{0};
  /// It soon waits for something else than the server, perhaps for long. It stops counting earlier:
  /// after `slow_unmeasured` at most, and after `slow_at_least` when nothing is known or most of
  /// the last few lasted longer than that. `max_running` is not for it.
  bool waits = false;
};

struct LimitOptions {
  double cores = Cores();
  double min = 2;
  double max = 64;
  double initial = 0;     // 0: two for each core, and 4 at least
  int slow_multiple = 4;  // of the median, then a call stops counting,
  Duration slow_at_least = std::chrono::milliseconds{100};  // but not before this,
  Duration slow_unmeasured =
      std::chrono::seconds{1};                      // nor, with nothing measured yet, before this,
  Duration slow_at_most = std::chrono::seconds{2};  // nor later: others wait no longer for it
  size_t max_running = 256;                         // slow ones included
  std::vector<CallKind> kinds{{}};
};

/// The decision, without waiting.
class LimitCore {
 public:
  using Ticket = uint64_t;
  using Kind = size_t;  // of LimitOptions::kinds
  explicit LimitCore(LimitOptions options);

  bool MayStart(Clock::Time now) const;
  Ticket Start(Kind kind, Clock::Time now);
  /// `measure` false: it failed, so that its time says nothing.
  void Finish(Ticket ticket, Clock::Time now, bool measure);
  /// When the oldest of the counting calls stops counting; no time when none counts.
  Clock::Time NextSlow(Clock::Time now) const;
  double limit() const { return limit_; }
  size_t running() const { return running_.size(); }
  Duration head_start(Kind kind) const { return options_.kinds.at(kind).head_start; }

 private:
  struct Call {
    Kind kind = 0;
    Clock::Time started;
    size_t beside = 0;      // most that counted at once during it, itself included
    bool full = false;      // the limit was reached during it
    bool outlasts = false;  // it was measured as one that waits
  };
  struct Measured {
    std::deque<Duration> recent;   // for the median
    std::vector<Duration> window;  // since the limit was last looked at
    bool full = false;             // for a call of this window
    Duration quickest{0};          // what a call takes alone, as far as it was seen
    Duration counts_for{0};
  };
  size_t Counting(Clock::Time now) const;
  void Remember(Kind kind, Duration took);
  void RememberWaiting(Clock::Time now);
  void Adapt(Measured& kind);

  const LimitOptions options_;
  double limit_;
  Ticket last_ = 0;
  std::map<Ticket, Call> running_;
  std::vector<Measured> measured_;  // by kind
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

/// Waiters start in the order in which they came, less their head start. Outlives its permits and
/// waiters, and the tasks of `loop`, whose timers tell it when calls have become slow.
class AdaptiveLimit {
 public:
  using Kind = LimitCore::Kind;
  using Begun = std::function<void(StatusOr<Permit>)>;
  AdaptiveLimit(const Clock& clock, EventLoop& loop, LimitOptions options)
      : clock_(clock), loop_(loop), core_(std::move(options)) {}
  /// Returns at once; `begun` is called once, on any thread, also on this one before Begin returns,
  /// and must not block. The permit is held while the call runs.
  void Begin(Kind kind, const Deadline& deadline, Begun begun);
  /// Blocks until the call may start. Not on the loop.
  StatusOr<Permit> Acquire(Kind kind, const Deadline& deadline);
  double limit() const;

 private:
  using Place = std::pair<Clock::Time, uint64_t>;  // when it came, less its head start; a number
  struct Waiter {
    Kind kind = 0;
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
  Permit Start(Kind kind, Clock::Time now);
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
