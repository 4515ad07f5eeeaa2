#pragma once

/// A node in one thread: the services on a virtual clock, with bus, runtime and files in memory.
/// The seed alone decides who runs next, how long calls take, what is lost, who is killed where.
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
  bool crash_processes = false;  // killed at any step
  bool crash_at_fail_points = false;
  bool pause_processes = false;
  bool disturb_bus = false;      // messages lost, doubled, late, out of order; the bus away
  bool disturb_runtime = false;  // calls fail, are slow, lose their answer; the runtime away
  bool break_manifests = false;  // a file is broken for a moment
  bool disturb_files = false;    // what a process remembers cannot be read for a moment
  bool move_manifests = false;   // away and back, so that the pod keeps its UID
  bool lose_containers = false;  // removed by somebody else
  bool step_clock = false;       // the machine's wall clock, by hours
  bool disturb_server = false;   // the API server away, slow; answers that are errors, or are lost
  bool restart_runtime = false;  // it is down for a moment, and what it pulls is lost
  bool fill_disk = false;        // no room for images, and soon none for volumes
  bool keep_pods = false;        // no fault: nobody changes what is wanted
  static FaultPlan None() { return {}; }
  static FaultPlan All() {
    return {true, true, true, true, true, true, true, true, true, true, true, true, true, false};
  }
};

class ApiServer;
class SimNode;

/// One start of one process: its own loop, strands, end of the bus. Destroyed when no frame of it
/// is on the stack.
class Process {
 public:
  Process(SimNode& node, const std::string& name);
  virtual ~Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual void Start() = 0;
  /// Why it is not ready or does not vouch for its table; shown beside a violation.
  virtual std::string Complaint() const { return {}; }
  /// Somebody has recorded it.
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

  /// What the desired pods are; random manifests come and go from these on.
  struct Wanted {
    enum class Kind { kSteady, kCrashing, kJob, kOnce };
    Kind kind = Kind::kSteady;
    int version = 0;       // a change of the command
    bool touched = false;  // changed since it was first put: its container may have been replaced
    bool lost = false;     // somebody has removed a container of it
    bool away = false;     // for a moment: it comes back as it was
    bool down = false;     // runs once, and ended with the machine
    std::string room;      // what it takes of the node, so that two versions never fit side by side
  };

  /// How often each pod is looked at without a reason, by processes started from now on.
  void SetSyncFrequency(Duration frequency) { sync_frequency_ = frequency; }
  Duration sync_frequency() const { return sync_frequency_; }
  /// Pods end before the machine goes down, of processes started from now on.
  void EndPodsWithIt();
  const gc::ShutdownGroups& shutdown_groups() const { return shutdown_groups_; }  // empty: not so
  /// gc ends pods when the node runs short of something, of processes started from now on.
  void EvictUnderPressure();
  const std::map<std::string, std::string>& eviction_hard() const { return eviction_hard_; }
  enum class Shortage { kMemory, kDisk };
  /// There is little of it for that long, while the node is disturbed as planned.
  void RunShort(Shortage what, Duration duration, const FaultPlan& plan);
  size_t evicted() const { return evictions_.shown().size(); }
  /// A file that is no manifest is beside them: the source is never complete.
  void PutStrayFile();
  /// Before the start: its pods come from an API server too.
  void JoinCluster(uint64_t seed);
  ApiServer* api() { return api_.get(); }  // null: it has none
  /// What goes down, or says so.
  gc::FakeShutdownSource::Machine& machine() { return machine_; }
  void StartAll();
  /// Adds, changes and removes manifests at random, and disturbs as planned, for that long.
  void RunFor(Duration duration, const FaultPlan& plan);
  /// Ends all disturbances and gives the node time to get to rest. Unset: longer than a crash
  /// loop's longest wait.
  void HealAndSettle(std::optional<Duration> time = {});
  /// The machine says that it goes down, and waits for a minute, disturbed as planned.
  void GoDown(const FaultPlan& plan);
  /// It is up again, and all processes are started: cgroups, mounts and what is kept for a boot are
  /// gone.
  void Reboot();

  /// All that was broken at any step, and what is not as wanted now.
  std::vector<std::string> Violations();
  /// The same of a node that has gone down: nothing is up.
  std::vector<std::string> ViolationsAtTheEnd() const;
  std::string Describe() const;
  uint64_t steps() const { return scheduler_.steps(); }
  int crashes() const { return crashes_; }
  struct HookCounts {
    int post_starts = 0, pre_stops = 0;
    int stopped_without = 0;  // containers that were told to end before their preStop
  };
  const HookCounts& hooks() const { return hook_counts_; }
  struct LackCounts {
    int lost_pulls = 0;  // with the runtime
    int full_for_pulls = 0, full_for_volumes = 0;
  };
  const LackCounts& lacks() const { return lack_counts_; }
  size_t wanted() const { return wanted_.size(); }
  uint64_t digest() const { return digest_; }  // of the whole course; equal for equal seeds

  // For the processes.
  const Clock& clock() const { return clock_; }
  exec::Scheduler& scheduler() { return scheduler_; }
  bus::FakeBusNetwork& network() { return network_; }
  cri::FakeRuntime& runtime() { return *runtime_; }
  fs::FakeFileSystem& files() { return files_; }
  fs::FakeMounts& mounts() { return mounts_; }
  cgroup::FakeKernel& kernel() { return kernel_; }
  fs::FakeOwnership& ownership() { return ownership_; }
  LogSink& sink();
  /// The runtime is about to be told to run a command: the commands of hooks are watched.
  void OnCommand(const cri::ContainerId& id, const std::string& command);
  /// It takes its time.
  StatusOr<cri::ExecResult> Exec(const cri::ContainerId& id, const std::vector<std::string>& words,
                                 const Deadline& deadline);
  /// The runtime is about to be told to end a container.
  void OnStop(const cri::ContainerId& id);
  /// status hears of it, if it is there.
  void OnEvent(const daemon::PodEvent& event);
  /// pod-worker is about to ask for a pull, and has its answer.
  void OnPull() { ++pulls_under_way_; }
  void OnPulled(const Status& status);
  /// gc asks for the end of a pod, because the node is short of something; pod-worker has taken it.
  void OnEvict(const std::string& uid);
  void OnEvictionTaken(const std::string& uid) { evictions_.OnTaken(uid); }
  /// gc asks for the end of a pod, because the machine goes down.
  void OnAskedToEnd(const std::string& uid);
  /// What must not be has been; the first one tells most.
  void Report(const std::string& what);
  /// A server in the pod of this manifest has answered a probe.
  void OnProbed(const std::string& name) { probed_.insert(name); }
  /// A call to the running process of that name: `ask` runs on its loop and calls back once.
  /// UNAVAILABLE when it is not there, DEADLINE_EXCEEDED when it does not answer.
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
  /// Before each operation on a file.
  Status OnFile(std::string_view operation, const std::string& path);
  void PauseOne();
  void ChangeManifests(const FaultPlan& plan);
  void PutManifest(const std::string& name);
  void BreakManifest(const std::string& name);
  void MoveManifest(const std::string& name);
  void LoseContainer();
  /// Which lives of pods that run once have run. Twice in one is a violation.
  void WatchRuns();
  void ArmFailPoint();
  bool Chance(double p) { return random_.Unit() < p; }
  std::string AnyProcess();
  void CheckStep();
  void CheckPod(const std::string& name, const Wanted& wanted,
                std::vector<std::string>& found) const;
  /// Where `runtime` and `podstatus` differ from what is true (table_checks.cc).
  std::vector<std::string> CheckTables();
  /// A pod has its cgroup as long as it has its sandbox.
  void CheckCgroups(std::vector<std::string>& found);
  /// The limits of a pod are those of its cgroup.
  void CheckLimits(const cri::Sandbox& sandbox, const std::string& dir,
                   std::vector<std::string>& found);
  void SetShort(std::optional<Shortage> what);
  void OnGcDied();
  /// What is told while the node is short of something (pressure.cc).
  void WatchPressure(const v1::PodStatusRecord& record);
  void CheckPressure(std::vector<std::string>& found);
  bool IsEvicted(const std::string& name) const;
  /// Volumes show all of what they are to show, or all of what was before (volume_checks.cc).
  void WatchVolumes();
  /// A pod has its volumes, up to date and nothing beside them, as long as it has its sandbox.
  void CheckVolumes(std::vector<std::string>& found);
  void CheckVolumesOf(const cri::Sandbox& sandbox, std::vector<std::string>& found);
  /// Pods whose volumes had no room were told so, as far as nobody died who was to tell.
  void CheckTold(std::vector<std::string>& found) const;
  std::set<std::string> RunningPods() const;  // UIDs
  /// Pods that were asked to end do so in their time.
  void WatchEnds();
  /// Of pods that are gone nothing is left on disk and in `workers`.
  std::vector<std::string> CheckRemains(const bus::View<v1::DesiredRecord>& desired,
                                        const bus::View<v1::WorkerRecord>& workers);
  std::vector<std::string> CheckStatusTable(const bus::View<v1::PodStatusRecord>& view) const;
  /// Where the API server differs from what is true, and from what `podstatus` says
  /// (server_checks.cc).
  std::vector<std::string> CheckServer(const bus::View<v1::PodStatusRecord>& view) const;
  void CheckApiPods(const bus::View<v1::PodStatusRecord>& view,
                    std::vector<std::string>& found) const;
  void CheckMirrors(const bus::View<v1::PodStatusRecord>& view,
                    std::vector<std::string>& found) const;
  void CheckNodeObject(std::vector<std::string>& found) const;
  /// What was recorded of a pod is bounded.
  void CheckEvents(std::vector<std::string>& found) const;
  bool IsWantedAtServer(const std::string& uid) const;
  /// What is told of a pod, at any time: an end stays, and a container is ready when it was probed,
  /// and stays so while it runs.
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
  std::optional<int> room_;  // entries that the disk still takes; unset: any number
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
  std::string pressure_;  // the condition that was to be said; empty: none
  bool pressed_ = false;  // it was
  uint64_t digest_ = 0;
  std::vector<std::string> violations_;
  using LifeOfPod = std::pair<std::string, std::string>;  // UID, incarnation
  static LifeOfPod LifeOf(const cri::Container& container);
  std::map<LifeOfPod, std::string> runs_;  // the container
  /// Those whose start had failed when their container was taken away: nobody can tell any more.
  std::set<LifeOfPod> maybe_ran_;
  std::set<std::string> hooks_begun_;  // "<container id> <hook>"
  HookCounts hook_counts_;
};

/// Adds all services of splitlet to the node.
void AddServices(SimNode& node);

}  // namespace splitlet::simulation
