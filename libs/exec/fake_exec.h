#pragma once

/// Loops and strands on virtual time, for unit tests and the simulation. A Scheduler runs tasks one
/// after the other as steps, and moves a FakeClock to the time of each.
///   FakeClock clock; FakeLoop loop(clock); FakeStrands strands(loop);   // one process
///   Scheduler all(clock); FakeLoop a(all, all.NewOwner("pleg"));        // several that share time
/// Threads: one.
/// Errors: CHECK if the tasks never end.
/// Source: docs/design.md, "Simulation".

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/exec/exec.h"

namespace splitlet::exec {

/// A task of an owner waits in a lane: its loop, or one strand. Each lane runs one task at a time,
/// in order.
class Scheduler {
 public:
  using Owner = int;
  struct Step {
    Owner owner = 0;
    std::string name;    // of the owner
    std::string strand;  // "" is the loop
  };
  /// Thrown by an injected `crash` action: the step ends at that line and its owner is dropped.
  struct CrashedHere {};

  explicit Scheduler(FakeClock& clock) : clock_(clock) {}

  /// Each start of a process gets an owner of its own, a restart too.
  Owner NewOwner(std::string name);
  /// Drops all tasks of the owner and accepts no more: a crash. Inside a step of that owner the
  /// step continues to its end.
  void Drop(Owner owner);
  /// A reboot of the machine: no task waits for a time of the earlier boot any more. The caller
  /// sets the clock's boot.
  void Reboot();
  bool alive(Owner owner) const;
  /// A paused process runs nothing; its tasks stay until Resume.
  void Pause(Owner owner);
  void Resume(Owner owner);
  /// The owner runs nothing before `duration` has passed.
  void Delay(Owner owner, Duration duration);

  /// Called by a fake inside a step: the call took that long. For the rest of the step the clock is
  /// later, the step's posts come that much later, and its lane is busy so long. Other lanes and
  /// owners are not delayed.
  void Charge(Duration duration);

  /// Called by a fake inside a step: the step waits while other lanes run, until `done` holds or
  /// `until` has come (then false). Its own lane stays busy. Throws CrashedHere if the step's owner
  /// dies during the wait, so the frames of the step must outlive the owner.
  bool WaitInStep(Clock::Time until, const std::function<bool()>& done);
  /// Nesting of the running steps.
  int depth() const { return depth_; }

  /// Which of the ready lanes runs next: with `random` a random one, else the first by time and
  /// posting.
  void SetRandom(Random* random) { random_ = random; }
  void SetBeforeStep(std::function<void(const Step&)> hook) { before_ = std::move(hook); }
  /// `crashed`: the step ended by CrashedHere.
  void SetAfterStep(std::function<void(const Step&, bool crashed)> hook) {
    after_ = std::move(hook);
  }

  /// Runs one task that is due now; false if there is none.
  bool RunOne();
  /// Runs everything that is due now, and all that it posts for now.
  void RunUntilIdle();
  /// Moves the time forward and runs the tasks that become due, by time and then by posting, until
  /// idle.
  void Advance(Duration duration);
  /// Time of the next task (not before now); no time if no task waits.
  Clock::Time NextDue() const;
  uint64_t steps() const { return steps_; }
  FakeClock& clock() { return clock_; }

 private:
  friend class FakeLoop;
  friend class FakeStrands;
  using Order = std::pair<Duration, uint64_t>;  // time of {monotonic}, then number of the posting
  struct Lane {
    std::map<Order, Task> tasks;
    Duration free_at{0};
    bool running = false;
  };
  struct Process {
    std::string name;
    bool alive = true;
    bool paused = false;
    Duration not_before{0};
    std::map<std::string, Lane> lanes;  // "" is the loop
  };
  struct Ready {
    Owner owner = 0;
    const std::string* lane = nullptr;  // a key of Process::lanes; null: nothing is ready
    Order order;
  };
  uint64_t Add(Owner owner, const std::string& lane, Duration at, Task task);
  void Cancel(Owner owner, uint64_t number);
  template <typename F>
  void ForEachReady(Duration by, const F& f) const;
  Ready First(Duration by) const;
  Ready AnyOf(Duration by) const;
  void Run(const Ready& ready);

  static constexpr uint64_t kMaxStepsAtOnce = 5'000'000;
  FakeClock& clock_;
  Random* random_ = nullptr;
  std::function<void(const Step&)> before_;
  std::function<void(const Step&, bool)> after_;
  std::map<Owner, Process> owners_;
  Owner last_owner_ = 0;
  uint64_t last_number_ = 0;
  uint64_t steps_ = 0;
  const Step* running_ = nullptr;
  Duration charged_{0};
  int depth_ = 0;
};

class FakeLoop final : public EventLoop {
 public:
  /// Uses a scheduler of its own.
  explicit FakeLoop(FakeClock& clock);
  FakeLoop(Scheduler& scheduler, Scheduler::Owner owner);
  ~FakeLoop() override;

  void Post(Task task) override;
  TimerId RunAfter(Duration delay, Task task) override;
  void CancelTimer(TimerId timer) override;
  /// True in a task of this loop, and outside of every step (the test itself); false in a strand's
  /// task.
  bool IsCurrent() const override;
  Duration Monotonic() const override { return scheduler_.clock_.Now().monotonic; }

  void RunUntilIdle() { scheduler_.RunUntilIdle(); }
  void Advance(Duration duration) { scheduler_.Advance(duration); }
  Scheduler& scheduler() { return scheduler_; }
  Scheduler::Owner owner() const { return owner_; }

 private:
  std::unique_ptr<Scheduler> own_;
  Scheduler& scheduler_;
  Scheduler::Owner owner_;
};

class FakeStrands final : public Strands {
 public:
  explicit FakeStrands(FakeLoop& loop) : scheduler_(loop.scheduler()), owner_(loop.owner()) {}
  void Run(const std::string& key, Task task) override;
  size_t Pending(const std::string& key) const override;

 private:
  Scheduler& scheduler_;
  Scheduler::Owner owner_;
};

}  // namespace splitlet::exec
