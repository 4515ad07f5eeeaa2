#pragma once

/// A node in memory on virtual time: correct unless a test enables one bug. It knows nothing of
/// splitlet. Pods come and go by simple rules, so that tests of the checker have an independent
/// truth.
/// Threads: one.
/// Errors: those that a test enables.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "chaos/round/engine.h"

namespace splitlet::chaos {

/// The bugs of a naive agent.
enum class Bug {
  kNone,
  kDoublesOnKill,     // a restarted worker does not find its container, and creates another
  kSecondSandbox,     // a restarted worker does not find its sandbox, and creates another
  kRerunsOnKill,      // a restarted worker forgets that the pod has ended, and runs it again
  kRevives,           // the same, and the status leaves the terminal phase
  kGraceStartsAgain,  // a restarted worker gives the full grace period again
  kKillsAtOnce,       // a worker gives no grace period
  kRestartsOnKill,    // containers do not outlive the worker
  kUnreadyOnKill,     // a restarted status reports all pods unready for a while
  kBrokenKillsPod,    // an unreadable manifest counts as removed
  kForgetsRemoval,    // a manifest removed while the worker is down is never noticed
  kNeverStarts,       // a manifest added while the worker is down is never noticed
  kMiscounts,         // the restart count is wrong
  kStaleStatus,       // the status names a container that no longer exists
  kKeepsStatus,       // the status of a removed pod stays
  kLeaksMount,        // a volume of each removed pod stays mounted
  kStaysDead,         // a killed process does not restart
  kFat,               // a process uses too much memory
  kOpensFiles,
  kTwoUids,           // an updated pod starts before the previous one has ended
  kSidecarsLate,      // sidecars start after the container that needs them
  kSidecarsEndFirst,  // sidecars end as soon as the pod is removed
  kIgnoresRoom,       // admission gives CPUs and host ports to two pods
  kRerunsWhatIsGone,  // a container missing in the runtime counts as never run
  kHooksAgain,        // a restarted worker runs the hooks of the containers it stops again
  kNeverHooks,        // the worker runs no hooks
  kEndedForEver,      // a UID that has ended does not run in a later incarnation
  kKeepsObject,       // the API server keeps the object of a removed pod
  kResurrects,        // a restarted worker starts pods that the API server no longer has
  kRevivesThere,      // a restarted status reports ended pods as running to the API server
  kNoMirror,          // static pods have no mirror pods
  kOldMirror,         // mirror pods keep the first version of their manifest
  kStaleThere,        // the API server keeps the first container statuses only
  kNodeNotReady,
  kForgetsForced,  // a pod deleted by force keeps running
  kEventStorm,     // the event count of each pod grows every second
  // Bugs of the runtime, not of the agent:
  kForgetsTasks,  // when killed, it forgets a container that it was creating
};

class FakePacer final : public Pacer {
 public:
  explicit FakePacer(FakeClock& clock) : clock_(clock) {}
  void Wait(Duration duration) override { clock_.Advance(duration); }

 private:
  FakeClock& clock_;
};

class FakeNode final : public Node {
 public:
  FakeNode(FakeClock& clock, Bug bug) : clock_(clock), bug_(bug) {}

  Status CanDo(const Action& action) override;
  Status CanServe() override { return serves ? OkStatus() : FailedPrecondition("no API server"); }
  Status PutPod(const PodToRun& pod) override;
  Status RemovePod(const std::string& name) override;
  Status Begin(const Action& action) override;
  Status End(const Action& action) override;
  Status Again(const Action& action) override;
  Snapshot Inspect() override;
  std::optional<WallTime> EndOf(const std::string& container) override;
  std::string FullName(const std::string& pod) const override { return pod + "-node"; }
  std::vector<std::string> Unwell() override { return {}; }
  std::set<std::string> HostResources() override { return host_resources_; }
  Status CleanUp() override { return OkStatus(); }
  std::set<std::string> RemoveRuntimeLeaks(const std::set<std::string>& resources) override;
  std::vector<BusLine> BusBetween(WallTime from, WallTime to) override;

  std::optional<FaultKind> cannot;  // the fault that CanDo refuses
  bool serves = true;               // the node has an API server
  uint32_t earlier_attempts = 0;    // attempts of earlier incarnations of the same UID
  bool first_start_fails = false;   // the runtime ends the first attempt of each container before
                                    // it runs
  Duration begin_takes{0};          // time that Begin takes for each fault
  bool misses_removals = false;     // removals of pods with a fixed UID stay unnoticed
  bool too_late = false;            // each fault ends before it comes into force
  int puts = 0;
  std::set<std::string> open_faults;
  size_t pods() const { return incarnations_.size(); }

 private:
  /// An incarnation of a pod.
  struct Incarnation {
    PodToRun pod;
    std::string uid;
    std::vector<std::string> containers;  // container ids, the newest last
    std::optional<Clock::Time> removed;
    Clock::Time due;  // time of the pod's next event
    int restarts = 0;
    bool running = false, over = false, unready = false, lost = false;
    std::vector<std::string> extra;  // containers that a bug created
    bool second_sandbox = false;
    std::optional<WallTime> started;  // start time of the newest container
  };
  void Advance();
  void AdvanceIncarnation(Incarnation& incarnation);
  bool HasRoom(const Incarnation& incarnation) const;
  void AddSidecars(const Incarnation& incarnation, Snapshot& snapshot);
  void RemoveContainer(Incarnation& incarnation);
  void Start(Incarnation& incarnation);
  void Terminate(const Incarnation& incarnation);
  void Stop(Incarnation& incarnation, WallTime at);
  void OnWorkerKilled();
  bool WorkerAway() const { return away_.contains("pod-worker"); }
  ReportedPod ReportedOf(const Incarnation& incarnation) const;
  ReportedPod ServedOf(const Incarnation& incarnation) const;
  SeenEvents EventsOf(const Incarnation& incarnation) const;
  bool ServerAway() const { return away_.contains(kApiServer); }

  FakeClock& clock_;
  const Bug bug_;
  std::vector<Incarnation> incarnations_;
  std::map<std::string, WallTime> ends_;
  std::set<std::string> never_ran_, gone_;  // gone_: containers removed from the runtime
  std::set<std::string> ended_names_;       // full names of pods that ended and were removed
  std::map<std::string, Witness> witnesses_;
  std::map<std::string, pid_t> pids_;
  std::set<std::string> away_, dead_, host_resources_ = {"mount /there/before"};
  std::vector<ReportedPod> kept_, kept_there_;
  std::vector<SeenContainer> undead_;
  bool revives_ = false;
  int last_id_ = 0;
  pid_t last_pid_ = 100;
};

}  // namespace splitlet::chaos
