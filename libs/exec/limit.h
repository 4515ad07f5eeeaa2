#pragma once

/// Adapts how many calls of one kind run at the same time. The limit grows while calls take at most
/// twice as long as the quickest call, and shrinks when calls slow each other down. It settles at
/// about three calls for each core if calls only compute, and keeps growing if calls wait. A call
/// that takes much longer than typical stops counting, so that a hung pod does not block others.
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

/// As many calls as this machine has cores, at least two.
double DefaultInitial();

struct LimitOptions {
  double min = 2;
  double max = 64;
  double initial = DefaultInitial();
  int slow_multiple = 4;  // times the median: a call this slow stops counting,
  Duration slow_at_least = std::chrono::milliseconds{100};  // but not before this,
  Duration slow_unmeasured =
      std::chrono::seconds{1};  // nor, with nothing measured yet, before this
  size_t max_running = 256;     // slow ones included
  /// The server soon passes such a call on, and then the call waits for something else. Its
  /// duration does not measure the server: the limit stays constant. A call counts for twice
  /// `slow_at_least`, or once if half of the last few took longer than `slow_unmeasured`.
  /// `max_running` does not apply.
  bool waits = false;
};

/// The limit's decisions, without waiting.
class LimitCore {
 public:
  using Ticket = uint64_t;
  explicit LimitCore(const LimitOptions& options);

  bool MayStart(Clock::Time now) const;
  Ticket Start(Clock::Time now);
  /// `measure` false: the call failed, so its duration measures nothing.
  void Finish(Ticket ticket, Clock::Time now, bool measure);
  /// When the oldest counting call stops counting; no time if none counts.
  Clock::Time NextSlow(Clock::Time now) const;
  double limit() const { return limit_; }
  size_t running() const { return running_.size(); }

 private:
  struct Call {
    Clock::Time started;
    size_t beside = 0;  // most calls that ran at the same time, this one included
    bool full = false;  // the limit was reached during it
    bool slow = false;  // with `waits`: it was measured as a slow call
  };
  size_t Counting(Clock::Time now) const;
  void Remember(Duration took);
  /// With `waits`, a call is measured as slow before it ends.
  void RememberSlow(Clock::Time now);
  void Adapt();

  const LimitOptions options_;
  double limit_;
  Ticket last_ = 0;
  std::map<Ticket, Call> running_;
  std::deque<Duration> recent_;   // for the median
  Duration counts_for_;           // follows it
  std::vector<Duration> window_;  // since the limit last changed
  bool full_ = false;             // for a call of this window
  Duration quickest_{0};          // duration of a call with few others, as far as measured
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
  /// The call failed: its duration measures nothing.
  void Failed() { measure_ = false; }

 private:
  std::function<void(bool)> finish_;
  bool measure_ = true;
};

/// Waiters start in the order of their places in the queue. Outlives its permits, its waiters and
/// the tasks of `loop`, whose timers notice slow calls.
class AdaptiveLimit {
 public:
  using Begun = std::function<void(StatusOr<Permit>)>;
  AdaptiveLimit(const Clock& clock, EventLoop& loop, const LimitOptions& options)
      : clock_(clock), loop_(loop), core_(options) {}
  /// Does not wait: `begun` is called once, on any thread, possibly before Begin returns, and must
  /// not block. The call holds the permit while it runs. `later`: the waiter queues as if it had
  /// come so much later.
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
  /// Answers waiters that may start or have waited too long.
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
