#pragma once

/// How far the termination of one incarnation is: what is being stopped, which containers got their
/// stop signal, the last observation, and how it ended.
/// In:      PodTerminator, which carries out the orders; the answers of stops.
/// Owns:    the stops under way, in steps; the preStop hooks under way; ids of containers that got
///          their stop signal with the pod; the last observation; the terminal status.
/// Killed:  the next start inspects the pod again. A container that got its signal before gets no
///          second grace: see Resume.
/// Threads: the loop's.
/// Errors:  those of stops are collected for the end of the run.
/// Source:  docs/safety.md, rules 19 and 20.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/pod-worker/pod/container_stop.h"

namespace splitlet::v1 {
class ObservedPod;
class TerminalStatus;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class Termination {
 public:
  /// An earlier start of this process began the end: the first step may have got its signals.
  void Resume() { resumed_ = true; }

  bool IsStopping() const { return run_.has_value(); }
  /// The first of its steps is still to be begun. `until`: when its containers have had their time.
  void BeginRun(StopSteps run, Clock::Time until);
  /// When this one has had its time: with the run, but for one with a grace of its own.
  Clock::Time UntilOf(const ContainerStop& container) const;
  /// All containers of the run, in all its steps. Before the first is begun.
  std::vector<ContainerStop> ToStop() const;
  /// The container gets its signal when its hook is over.
  void OnHookBegun(const std::string& container_id);
  /// One container of a step.
  struct Order {
    ContainerStop container;
    int64_t grace_seconds = 0;
  };
  /// All of the next step, to be stopped side by side, so that each gets the whole grace, but for
  /// those whose hook is under way; the next step gets what is left.
  std::vector<Order> BeginStep(Clock::Time now);
  /// The hook is over, or its time is. Returns the stop that waited for it, if its turn has come.
  std::optional<Order> OnHookEnded(const std::string& container_id, Clock::Time now);
  bool IsHookUnderWay(const std::string& id) const { return hooks_.contains(id); }
  /// Cancelled: the stops under way are no longer waited for.
  const std::shared_ptr<CancelToken>& cancel() const { return run_->cancel; }
  void Cancel();
  /// When the first of those that wait for their hook has had its time; unset: none waits.
  std::optional<Clock::Time> NextOverdue() const;
  bool IsCancelled() const { return run_ && run_->cancel->cancelled(); }
  /// Cancelled, and nothing of it answers any more.
  bool IsOver() const;
  /// Ids of those that wait for their hook though their time is over.
  std::vector<std::string> Overdue(Clock::Time now) const;

  enum class Progress {
    kNotAwaited,  // of a run that is over
    kWaits,       // others of the step have not answered
    kNextStep,
    kDone,
  };
  /// `has_time`: the pod's deadline is not over. A container that could not be stopped then needs
  /// the containers of the next step as long as it runs: the run is done. ABORTED: the container
  /// got no signal.
  Progress OnStopped(const std::string& container_id, const Status& status, bool has_time);
  struct Result {
    bool cancelled = false;
    bool with_pod = false;  // the containers got their signals with the pod
    std::vector<std::string> errors;
  };
  Result EndRun();

  /// Keeps of the last observation what the runtime no longer shows.
  void Observe(v1::ObservedPod seen);
  std::shared_ptr<const v1::ObservedPod> last_seen;  // terminating and later
  std::shared_ptr<const v1::TerminalStatus> terminal_status;

 private:
  struct Run {
    Run();
    std::vector<std::vector<ContainerStop>> steps;
    std::optional<int64_t> grace_seconds;
    Clock::Time until;
    std::set<std::string> newly_signalled;  // ids of containers that got no signal before this run
    std::set<std::string> outstanding;      // ids of containers that got their signal
    std::set<std::string> aside;            // the same; the next step waits for none of them
    std::map<std::string, ContainerStop> waiting;  // of the step, for their hooks; by id
    std::vector<std::string> errors;
    std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
    bool first_step = true, begun = false;
  };
  Order OrderFor(ContainerStop container, Clock::Time now, bool again);

  std::optional<Run> run_;
  std::set<std::string> hooks_;        // ids of containers whose hook is under way
  std::set<std::string> hooked_here_;  // hook begun by this process; until they stop
  bool resumed_ = false;
  std::set<std::string> signalled_;  // ids
};

}  // namespace splitlet::pod_worker
