#pragma once

/// A node in one thread: the services on a virtual clock, with bus, runtime and files in memory.
/// The seed alone decides which process runs next, how long calls take, what is lost, and where a
/// process is killed.
/// Threads: one. A killed process starts again 10 ms later, as under a supervisor.
/// Errors: violations are collected, not thrown.
/// Source: docs/design.md, "Simulation".

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/fake_bus.h"
#include "libs/cgroup/fake_kernel.h"
#include "libs/cri/fake_runtime.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "services/gc/protect/shutdown/fake_shutdown_source.h"
#include "services/gc/protect/shutdown/groups.h"
#include "tests/simulation/end_watch.h"
#include "tests/simulation/eviction_watch.h"

namespace splitlet::v1 {
class DesiredRecord;
class PodStatusRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::daemon {
struct PodEvent;
}

namespace splitlet::bus {
template <class R>
class View;
}

namespace splitlet::simulation {

struct FaultPlan {
  bool crash_processes = false;  // processes are killed at any step
  bool crash_at_fail_points = false;
  bool pause_processes = false;
  bool disturb_bus = false;      // messages are lost, doubled, late or out of order; the bus is
                                 // down
  bool disturb_runtime = false;  // calls fail, are slow, or lose their answer; the runtime is down
  bool break_manifests = false;  // a manifest is broken for a moment
  bool disturb_files = false;    // the records of a process are unreadable for a moment
  bool move_manifests = false;   // a manifest is removed and put back, so that the pod keeps its
                                 // UID
  bool lose_containers = false;  // containers are removed by another program
  bool step_clock = false;       // the machine's wall clock is moved by hours
  bool disturb_server = false;   // the API server is down or slow; answers are errors or are lost
  bool restart_runtime = false;  // the runtime is down for a moment, and its pulls are lost
  bool fill_disk = false;        // the disk has no space for images, and soon none for volumes
  bool keep_pods = false;        // not a fault: the desired pods stay the same
  static FaultPlan None() { return {}; }
  static FaultPlan All() {
    return {true, true, true, true, true, true, true, true, true, true, true, true, true, false};
  }
};

class ApiServer;
class SimNode;

/// One start of one process: its own loop, strands and bus connection. Destroyed when none of its
/// frames is on the stack.
class Process {
 public:
  Process(SimNode& node, const std::string& name);
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual void Start() = 0;
  /// Why the process is not ready, or its table not complete; shown with a violation.
  virtual std::string Complaint() const { return {}; }
  /// A process has recorded an event.
  virtual void OnEvent(const daemon::PodEvent& /*event*/) {}

  struct Shell;
  Shell& shell() { return *shell_; }

 private:
  std::shared_ptr<Shell> shell_;  // shared: destroyed after the service of the derived class
};

class SimNode {
 public:
  explicit SimNode(uint64_t seed);
  ~SimNode();

  /// The desired pods, from which random changes of manifests start.
  struct Wanted {
    enum class Kind { kSteady, kCrashing, kJob, kOnce };
    Kind kind = Kind::kSteady;
    int version = 0;       // counts changes of the command
    bool touched = false;  // changed since it was created: its container may have been replaced
    bool lost = false;     // another program removed a container of it
    bool away = false;     // removed for a moment: it comes back unchanged
    bool down = false;     // runs once, and ended with the machine
    std::string room;      // its resources: two versions never fit on the node together
  };

  /// Resync period of each pod, for processes started from now on.
  void SetSyncFrequency(Duration frequency) { sync_frequency_ = frequency; }
  Duration sync_frequency() const { return sync_frequency_; }
  /// Pods end before the machine shuts down, for processes started from now on.
  void EndPodsWithIt();
  // empty: no graceful shutdown
  const gc::ShutdownGroups& shutdown_groups() const { return shutdown_groups_; }
  /// gc evicts pods when the node lacks resources, for processes started from now on.
  void EvictUnderPressure();
  const std::map<std::string, std::string>& eviction_hard() const { return eviction_hard_; }
  enum class Shortage { kMemory, kDisk };
  /// Resources stay scarce for that long, with the planned faults.
  void RunShort(Shortage what, Duration duration, const FaultPlan& plan);
  size_t evicted() const { return evictions_.shown().size(); }
  /// An invalid manifest is among them, so the source is never complete.
  void PutStrayFile();
  /// Call before the start: adds pods of an API server.
  void JoinCluster(uint64_t seed);
  ApiServer* api() { return api_.get(); }  // null: the node has no API server
  /// The parts that go down, or announce it.
  gc::FakeShutdownSource::Machine& machine() { return machine_; }
  void StartAll();
  /// Adds, changes and removes manifests at random, with the planned faults, for that long.
  void RunFor(Duration duration, const FaultPlan& plan);
  /// Ends all faults and gives the node time to settle. Unset: longer than the longest back-off of
  /// a crash loop.
  void HealAndSettle(std::optional<Duration> time = {});
  /// The machine announces its shutdown and waits for a minute, with the planned faults.
  void GoDown(const FaultPlan& plan);
  /// The machine is up again with all processes started: cgroups, mounts and records of the old
  /// boot are gone.
  void Reboot();

  /// All violations at any step, and differences from the desired state now.
  std::vector<std::string> Violations();
  /// The same for a node that is shut down: nothing runs.
  std::vector<std::string> ViolationsAtTheEnd() const;
  std::string Describe() const;
  uint64_t steps() const { return scheduler_.steps(); }
  int crashes() const { return crashes_; }
  struct HookCounts {
    int post_starts = 0, pre_stops = 0;
    int stopped_without = 0;  // containers that were stopped before their preStop
  };
  const HookCounts& hooks() const { return hook_counts_; }
  struct LackCounts {
    int lost_pulls = 0;  // pulls lost with the runtime
    int full_for_pulls = 0, full_for_volumes = 0;
  };
  const LackCounts& lacks() const { return lack_counts_; }
  size_t wanted() const { return wanted_.size(); }
  uint64_t digest() const { return digest_; }  // digest of the whole course; equal for equal seeds

  // Called by the processes.
  const Clock& clock() const { return clock_; }
  exec::Scheduler& scheduler() { return scheduler_; }
  bus::FakeBusNetwork& network() { return network_; }
  cri::FakeRuntime& runtime() { return *runtime_; }
  fs::FakeFileSystem& files() { return files_; }
  fs::FakeMounts& mounts() { return mounts_; }
  cgroup::FakeKernel& kernel() { return kernel_; }
  fs::FakeOwnership& ownership() { return ownership_; }
  LogSink& sink();
  /// The runtime is about to run a command; checks those of hooks.
  void OnCommand(const cri::ContainerId& id, const std::string& command);
  /// The command takes its time.
  StatusOr<cri::ExecResult> Exec(const cri::ContainerId& id, const std::vector<std::string>& words,
                                 const Deadline& deadline);
  /// The runtime is about to stop a container.
  void OnStop(const cri::ContainerId& id);
  /// status receives the event, if it runs.
  void OnEvent(const daemon::PodEvent& event);
  /// pod-worker is about to request a pull, or has its answer.
  void OnPull() { ++pulls_under_way_; }
  void OnPulled(const Status& status);
  /// gc requests the end of a pod because the node lacks resources; pod-worker has accepted it.
  void OnEvict(const std::string& uid);
  void OnEvictionTaken(const std::string& uid) { evictions_.OnTaken(uid); }
  /// gc requests the end of a pod because the machine shuts down.
  void OnAskedToEnd(const std::string& uid);
  /// Reports a violation; the first one is the most useful.
  void Report(const std::string& what);
  /// A server in the pod of this manifest has answered a probe.
  void OnProbed(const std::string& name) { probed_.insert(name); }
  /// A call to the running process of that name: `ask` runs on its loop and calls back once.
  /// UNAVAILABLE if it does not run, DEADLINE_EXCEEDED if it does not answer.
  template <class R>
  R Call(const std::string& process, const Deadline& deadline,
         const std::function<void(Process&, std::function<void(R)>)>& ask) {
    auto answer = std::make_shared<std::optional<R>>();
    const Status went = Exchange(
        process, deadline,
        [ask, answer](Process& target) {
          ask(target, [answer](R reply) { *answer = std::move(reply); });
        },
        [answer] { return answer->has_value(); });
    if (!went.ok()) return R(went);
    return **answer;
  }
  using Maker = std::function<std::unique_ptr<Process>(SimNode&)>;
  void AddKind(const std::string& process, Maker maker) { makers_[process] = std::move(maker); }

 private:
  class Sink;
  const std::vector<std::string>& UnexplainedErrors() const;
  Status Exchange(const std::string& process, const Deadline& deadline,
                  const std::function<void(Process&)>& ask, const std::function<bool()>& answered);
  void StartProcess(const std::string& name);
  void Kill(const std::string& name);
  void OnDead(const std::string& name);
  void BeforeStep(const exec::Scheduler::Step& step);
  void AfterStep(const exec::Scheduler::Step& step, bool crashed);
  Status OnRuntimeCall(std::string_view method);
  void Disturb(const FaultPlan& plan);
  void DisturbBus();
  void DisturbRuntime();
  void DisturbFiles();
  void RestartRuntime();
  void FillDisk();
  /// Called before each operation on a file.
  Status OnFile(std::string_view operation, const std::string& path);
  void PauseOne();
  void ChangeManifests(const FaultPlan& plan);
  void PutManifest(const std::string& name);
  void BreakManifest(const std::string& name);
  void MoveManifest(const std::string& name);
  void LoseContainer();
  /// Which incarnations of run-once pods have run. Running twice in one is a violation.
  void WatchRuns();
  void ArmFailPoint();
  bool Chance(double p) { return random_.Unit() < p; }
  std::string AnyProcess();
  void CheckStep();
  void CheckPod(const std::string& name, const Wanted& wanted,
                std::vector<std::string>& found) const;
  /// Where `runtime` and `podstatus` differ from the truth (table_checks.cc).
  std::vector<std::string> CheckTables();
  /// A pod has its cgroup as long as it has its sandbox.
  void CheckCgroups(std::vector<std::string>& found);
  /// The limits of a pod are those of its cgroup.
  void CheckLimits(const cri::Sandbox& sandbox, const std::string& dir,
                   std::vector<std::string>& found);
  void SetShort(std::optional<Shortage> what);
  void OnGcDied();
  /// Reports while the node lacks resources (pressure.cc).
  void WatchPressure(const v1::PodStatusRecord& record);
  void CheckPressure(std::vector<std::string>& found);
  bool IsEvicted(const std::string& name) const;
  /// Volumes show either all new contents or all old ones (volume_checks.cc).
  void WatchVolumes();
  /// A pod has its volumes, up to date and without leftovers, as long as it has its sandbox.
  void CheckVolumes(std::vector<std::string>& found);
  void CheckVolumesOf(const cri::Sandbox& sandbox, std::vector<std::string>& found);
  /// Pods whose volumes did not fit were reported so, unless a reporting process died.
  void CheckTold(std::vector<std::string>& found) const;
  std::set<std::string> RunningPods() const;  // UIDs
  /// Pods that were asked to end do so in their time.
  void WatchEnds();
  /// Nothing of removed pods is left on disk and in `workers`.
  std::vector<std::string> CheckRemains(const bus::View<v1::DesiredRecord>& desired,
                                        const bus::View<v1::WorkerRecord>& workers);
  std::vector<std::string> CheckStatusTable(const bus::View<v1::PodStatusRecord>& view) const;
  /// Where the API server differs from the truth, and from `podstatus` (server_checks.cc).
  std::vector<std::string> CheckServer(const bus::View<v1::PodStatusRecord>& view) const;
  void CheckApiPods(const bus::View<v1::PodStatusRecord>& view,
                    std::vector<std::string>& found) const;
  void CheckMirrors(const bus::View<v1::PodStatusRecord>& view,
                    std::vector<std::string>& found) const;
  void CheckNodeObject(std::vector<std::string>& found) const;
  /// The number of events about a pod is bounded.
  void CheckEvents(std::vector<std::string>& found) const;
  bool IsWantedAtServer(const std::string& uid) const;
  /// Invariants of a pod's status at any time: an end stays, and a container is ready once probed,
  /// and stays ready while it runs.
  void WatchStatus();
  std::string WrongAfter(const v1::PodStatusRecord& before, const v1::PodStatusRecord& after) const;

  Random random_;
  FakeClock clock_;
  exec::Scheduler scheduler_;
  fs::FakeFileSystem files_;
  fs::FakeMounts mounts_{files_};
  cgroup::FakeKernel kernel_{cgroup::FakeKernel::V2()};
  fs::FakeOwnership ownership_{files_};
  std::unique_ptr<cri::Waiter> waiter_;
  std::unique_ptr<cri::FakeRuntime> runtime_;
  bus::FakeBusNetwork network_;
  std::unique_ptr<Sink> sink_;
  exec::FakeLoop world_;
  std::unique_ptr<ApiServer> api_;  // null: none
  gc::FakeShutdownSource::Machine machine_;
  std::unique_ptr<bus::FakeBus> watcher_;
  std::unique_ptr<bus::View<v1::PodStatusRecord>> told_;
  std::map<std::string, Maker> makers_;
  std::map<std::string, std::unique_ptr<Process>> running_;
  std::vector<std::unique_ptr<Process>> graveyard_;
  std::vector<FailPoints*> fail_point_stack_;
  std::map<std::string, Wanted> wanted_;
  std::set<std::string> names_used_, probed_;
  bool disturb_runtime_ = false, files_unreadable_ = false;
  std::optional<int> room_;  // entries that still fit on the disk; unset: any number
  std::set<std::string> lacked_room_, told_of_room_;  // UIDs
  int pulls_under_way_ = 0;
  LackCounts lack_counts_;
  double runtime_failures_ = 0;
  bool runtime_slow_ = false;
  int crashes_ = 0;
  Duration sync_frequency_ = 60s;
  gc::ShutdownGroups shutdown_groups_;
  EndWatch ends_;
  bool watch_ends_ = false;
  std::map<std::string, std::string> eviction_hard_;
  EvictionWatch evictions_;
  std::string pressure_;  // the condition that must be reported; empty: none
  bool pressed_ = false;  // the condition was reported
  uint64_t digest_ = 0;
  std::vector<std::string> violations_;
  using LifeOfPod = std::pair<std::string, std::string>;  // UID, incarnation
  static LifeOfPod LifeOf(const cri::Container& container);
  std::map<LifeOfPod, std::string> runs_;  // its container
  /// Incarnations whose start had failed when their container was removed: the truth is unknown.
  std::set<LifeOfPod> maybe_ran_;
  std::set<std::string> hooks_begun_;  // "<container id> <hook>"
  HookCounts hook_counts_;
};

/// Adds all services of splitlet to the node.
void AddServices(SimNode& node);

}  // namespace splitlet::simulation
