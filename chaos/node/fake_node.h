#pragma once

/// A node in memory on virtual time, right unless asked to be wrong in one way. It knows nothing of
/// splitlet: pods come and go by simple rules, so that the checker is tried on truth of its own.
/// Threads: one.
/// Errors: those asked for.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "chaos/round/engine.h"

namespace splitlet::chaos {

/// How a naive agent goes wrong.
enum class Bug {
  kNone,
  kDoublesOnKill,     // a restarted worker does not find its container, and makes another
  kSecondSandbox,     // nor its sandbox
  kRerunsOnKill,      // nor that the pod is over
  kRevives,           // and reports so
  kGraceStartsAgain,  // a restarted worker gives the whole grace period once more
  kKillsAtOnce,       // it gives none
  kRestartsOnKill,    // containers do not outlive the worker
  kUnreadyOnKill,     // a restarted status calls everything unready for a while
  kBrokenKillsPod,    // a manifest that cannot be read is one that is gone
  kForgetsRemoval,    // a removal that came while the worker was away is never seen
  kNeverStarts,       // a pod that came while the worker was away is never seen
  kMiscounts,         // restarts
  kStaleStatus,       // the status names a container that is gone
  kKeepsStatus,       // the status of a pod that is gone stays
  kLeaksMount,        // of each pod that went
  kStaysDead,         // a process that was killed does not come back
  kFat,               // and eats memory
  kOpensFiles,
  kTwoUids,           // an update starts before the pod before it has ended
  kSidecarsLate,      // they start after the container that needs them
  kSidecarsEndFirst,  // they end immediately at the removal
  kIgnoresRoom,       // processors and host ports are given away twice
  kRerunsWhatIsGone,  // what is not in the runtime never ran
  kHooksAgain,        // a restarted worker runs the hooks of what it stops once more
  kNeverHooks,        // runs none
  kEndedForEver,      // a UID that has ended does not run in another incarnation
  kKeepsObject,       // the API server has a pod that is gone
  kResurrects,        // a restarted worker starts what the API server has no more
  kRevivesThere,      // a restarted status reports what has ended as running to the API server
  kNoMirror,          // the API server does not have the pods of manifests
  kOldMirror,         // or has them as they were first
  kStaleThere,        // it has the first containers only
  kNodeNotReady,
  kForgetsForced,  // a pod that was deleted by force goes on
  kEventStorm,     // more events of each pod every second
  // Bugs of the runtime, not of the agent:
  kForgetsTasks,  // killed, it loses sight of one that it was making
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

  std::optional<FaultKind> cannot;  // what CanDo refuses
  bool serves = true;               // the node has an API server
  uint32_t earlier_attempts = 0;    // of incarnations before, under the same UID
  bool first_start_fails = false;   // the runtime ends each first container before it runs
  Duration begin_takes{0};          // each fault
  bool misses_removals = false;     // of pods with a UID of their own
  bool too_late = false;            // no fault comes into force before its end
  int puts = 0;
  std::set<std::string> open_faults;
  size_t pods() const { return incarnations_.size(); }

 private:
  /// An incarnation of a pod.
  struct Incarnation {
    PodToRun pod;
    std::string uid;
    std::vector<std::string> containers;  // ids, newest last
    std::optional<Clock::Time> removed;
    Clock::Time due;  // the next thing that happens to it
    int restarts = 0;
    bool running = false, over = false, unready = false, lost = false;
    std::vector<std::string> extra;  // what a bug made
    bool second_sandbox = false;
    std::optional<WallTime> started;  // of the newest container
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
  std::set<std::string> never_ran_, gone_;  // gone_: not in the runtime any more
  std::set<std::string> ended_names_;       // of pods that are over and gone
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
