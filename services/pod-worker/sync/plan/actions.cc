#include "services/pod-worker/sync/plan/actions.h"

#include <algorithm>
#include <map>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/base/status.h"
#include "libs/cri/observe.h"
#include "libs/kube/ephemeral.h"
#include "libs/kube/restart_policy.h"
#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/pod/phase.h"
#include "services/pod-worker/runtime_config/names.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

using v1::ContainerRecord;
using v1::ObservedPod;
using v1::SandboxRecord;
using Ids = std::set<std::string>;

struct SandboxDecision {
  bool create = false;
  uint32_t attempt = 0;
  std::string id;  // known when the change is worth an event, or the sandbox stays
};

SandboxDecision DecideSandbox(const kube::Pod& pod, const ObservedPod& seen) {
  using enum cri::SandboxCheck;
  const cri::SandboxCheck check = cri::CheckSandbox(pod, seen);
  if (check == kAbsent) return {.create = true};
  const SandboxRecord& latest = seen.sandboxes(0);
  if (check == kUsable) return {false, latest.attempt(), latest.id()};
  return {true, latest.attempt() + 1, check == kOtherNetwork ? "" : latest.id()};
}

/// Collects the actions for one pod; the order of the calls is that of the spec's decision.
class Decision {
 public:
  Decision(const kube::Pod& pod, const ObservedPod& seen, const Ids& replacing,
           const ProbeResultsById& probes)
      : pod_(pod), seen_(seen), replacing_(replacing), probes_(probes) {}

  PodActions Compute() {
    const SandboxDecision sandbox = DecideSandbox(pod_, seen_);
    if (sandbox.create) {
      NewSandbox(sandbox);
    } else {
      todo_.sandbox_id = sandbox.id;
      PruneInitRecords();
      EphemeralContainers();
      if (InitContainers()) RegularContainers();
    }
    todo_.sidecar_first =
        !initialised_ && std::any_of(todo_.start_init.begin(), todo_.start_init.end(),
                                     [](const ContainerStart& start) {
                                       return start.kind == ContainerKind::kSidecar;
                                     });
    return std::move(todo_);
  }

 private:
  bool IsReplaced(const ContainerRecord& record) const { return replacing_.contains(record.id()); }

  bool LeftToStart(const kube::Container& container) const {
    const ContainerRecord* newest = NewestRecord(seen_, container.name());
    if (newest == nullptr || newest->state() != ContainerRecord::EXITED || IsReplaced(*newest))
      return true;
    if (cri::IsLost(*newest)) return RestartsLost(pod_, container);
    return kube::RestartPolicyOf(pod_, container) != "OnFailure" || newest->exit_code() != 0;
  }

  void NewSandbox(const SandboxDecision& sandbox) {
    todo_.kill_pod = true;
    const bool had_one = sandbox.attempt > 0 || seen_.sandboxes_size() == 0;
    if (pod_.spec().restart_policy() == "Never" && had_one && seen_.containers_size() > 0) return;
    std::vector<const kube::Container*> left;
    bool some_record = false;
    for (const auto& container : pod_.spec().containers()) {
      if (LeftToStart(container)) left.push_back(&container);
      const ContainerRecord* newest = NewestRecord(seen_, container.name());
      some_record =
          some_record || (newest != nullptr && newest->state() != ContainerRecord::UNKNOWN);
    }
    if (left.empty() && some_record) return;
    todo_.create_sandbox_attempt = sandbox.attempt;
    todo_.sandbox_changed = !sandbox.id.empty();
    if (pod_.spec().init_containers_size() > 0) {
      PurgeInitRecords();
      todo_.start_init.push_back(StartInit(pod_.spec().init_containers(0)));
      return;
    }
    for (const kube::Container* container : left) todo_.start.push_back(Start(*container));
  }

  /// Work of init containers in an earlier sandbox does not count. The number of the first one goes
  /// on: it is made with the present records.
  void PurgeInitRecords() {
    const auto& inits = pod_.spec().init_containers();
    for (int i = 1; i < inits.size(); ++i) {
      todo_.forget.push_back(inits[i].name());
      for (const auto& record : seen_.containers())
        if (record.name() == inits[i].name() && !cri::IsLost(record))
          todo_.remove.push_back(record.id());
    }
  }

  /// Each once, whatever becomes of it; unlike the others it waits for no init container.
  void EphemeralContainers() {
    for (const auto& container : kube::EphemeralContainersOf(pod_.spec())) {
      const ContainerRecord* newest = NewestRecord(seen_, container.name());
      if (newest != nullptr && newest->state() != ContainerRecord::CREATED) continue;
      todo_.start_ephemeral.push_back(Start(container, ContainerKind::kEphemeral));
    }
  }

  /// Keeps only the newest dead record of each init container.
  void PruneInitRecords() {
    for (const auto& init : pod_.spec().init_containers()) {
      bool first = true;
      for (const auto& record : seen_.containers()) {
        if (record.name() != init.name()) continue;
        if (!first && record.state() == ContainerRecord::EXITED)
          todo_.remove.push_back(record.id());
        if (record.state() == ContainerRecord::EXITED || record.state() == ContainerRecord::UNKNOWN)
          first = false;
      }
    }
  }

  ContainerStart StartInit(const kube::Container& container) const {
    return Start(container,
                 kube::IsSidecar(container) ? ContainerKind::kSidecar : ContainerKind::kInit);
  }

  ContainerStart Start(const kube::Container& container,
                       ContainerKind kind = ContainerKind::kRegular) const {
    ContainerStart start{.name = container.name(), .kind = kind};
    for (const auto& record : seen_.containers()) {
      if (record.name() != container.name()) continue;
      if (record.state() == ContainerRecord::CREATED) {
        AddCreated(container, record, start);
        continue;
      }
      if (record.state() == ContainerRecord::UNKNOWN && IsReplaced(record))
        start.remove.push_back(record.id());
      if (record.state() == ContainerRecord::EXITED && start.exited_id.empty()) {
        start.exited_id = record.id();
        start.exited_at_ns = record.finished_at_ns();
      }
      if (!start.restart_count)
        start.restart_count = static_cast<uint32_t>(record.restart_count()) + 1;
    }
    return start;
  }

  /// A created container never ran: it is started, or it goes and its number is used again.
  void AddCreated(const kube::Container& container, const ContainerRecord& record,
                  ContainerStart& start) const {
    const bool usable = start.created_id.empty() && !todo_.create_sandbox_attempt &&
                        record.sandbox_id() == todo_.sandbox_id &&
                        record.hash() == ContainerHash(container);
    if (usable) {
      start.created_id = record.id();
    } else {
      start.remove.push_back(record.id());
    }
    if (!start.restart_count) start.restart_count = static_cast<uint32_t>(record.restart_count());
  }

  void Stop(const ContainerRecord& record, std::string message, bool replaced) {
    todo_.stop.push_back({record.id(), record.name(), std::move(message), replaced});
  }

  /// A second running or unknown record of a name must not live beside its successor.
  void StopOlder(const std::string& name, const ContainerRecord* newest) {
    for (const auto& record : seen_.containers()) {
      if (record.name() != name || &record == newest) continue;
      if (record.state() == ContainerRecord::RUNNING)
        Stop(record, fmt::format("Container {} runs twice", name), false);
      if (record.state() == ContainerRecord::UNKNOWN) StopUnknown(record, "Container");
    }
  }

  /// Whether an unknown container still has to be stopped before it is replaced.
  bool StopUnknown(const ContainerRecord& record, const char* what) {
    if (IsReplaced(record)) return false;
    Stop(record, fmt::format("{} is in \"unknown\" state, try killing it before restart", what),
         true);
    return true;
  }

  /// Work of containers in an earlier sandbox does not count for initialisation; their records stay
  /// until the next attempt has taken over their number.
  const ContainerRecord* NewestInSandbox(const std::string& name) const {
    for (const auto& record : seen_.containers())
      if (record.name() == name && record.sandbox_id() == todo_.sandbox_id) return &record;
    return nullptr;
  }

  /// True when the regular containers may be considered.
  bool InitContainers() {
    const auto& inits = pod_.spec().init_containers();
    if (inits.empty()) return true;
    initialised_ = std::any_of(pod_.spec().containers().begin(), pod_.spec().containers().end(),
                               [this](const kube::Container& c) {
                                 const ContainerRecord* r = NewestInSandbox(c.name());
                                 return r != nullptr && (r->state() == ContainerRecord::CREATED ||
                                                         r->state() == ContainerRecord::RUNNING);
                               });
    bool later_done = initialised_;
    std::set<int> starts;
    for (int i = inits.size() - 1; i >= 0; --i) {
      const ContainerRecord* newest = NewestInSandbox(inits[i].name());
      const bool sidecar = kube::IsSidecar(inits[i]);
      if (newest == nullptr) {
        if (sidecar && later_done) starts.insert(i);
        continue;
      }
      if (later_done && !sidecar) continue;
      if (!InitContainer(i, *newest, later_done, starts)) return false;
      later_done = true;
    }
    if (!later_done) starts.insert(0);
    for (const int i : starts) todo_.start_init.push_back(StartInit(inits[i]));
    return initialised_;
  }

  /// The failed probe because of which the running container has to be stopped.
  std::optional<ProbeKind> FailedProbe(const kube::Container& container,
                                       const ContainerRecord& record) const {
    for (const ProbeKind kind : {ProbeKind::kLiveness, ProbeKind::kStartup})
      if (FindProbe(container, kind) != nullptr && ResultOf(probes_, record.id(), kind) == false)
        return kind;
    return std::nullopt;
  }

  bool WaitsForStartup(const kube::Container& container, const ContainerRecord& record) const {
    return FindProbe(container, ProbeKind::kStartup) != nullptr &&
           ResultOf(probes_, record.id(), ProbeKind::kStartup) != true;
  }

  void StopUnhealthy(const kube::Container& container, const ContainerRecord& record,
                     ProbeKind kind, bool init) {
    const bool replaced = kube::RestartPolicyOf(pod_, container) != "Never";
    Stop(
        record,
        fmt::format("{} {} failed {} probe{}", init ? "Init container" : "Container",
                    container.name(), NameOf(kind), replaced && !init ? ", will be restarted" : ""),
        replaced);
    const auto& probe = *FindProbe(container, kind);
    // The grace of a deletion goes before the grace of a probe.
    if (probe.has_termination_grace_period_seconds() &&
        !pod_.metadata().has_deletion_grace_period_seconds())
      todo_.stop.back().grace_seconds =
          std::min(probe.termination_grace_period_seconds(), kMaxGrace);
  }

  void InitSucceeded(int index, std::set<int>& starts) {
    if (index == pod_.spec().init_containers_size() - 1) {
      initialised_ = true;
    } else {
      starts.insert(index + 1);
    }
  }

  /// False: the pod is to be killed and nothing started.
  bool InitContainer(int index, const ContainerRecord& newest, bool later_done,
                     std::set<int>& starts) {
    const auto& container = pod_.spec().init_containers(index);
    const bool sidecar = kube::IsSidecar(container);
    if (newest.state() == ContainerRecord::CREATED) {
      starts.insert(index);
      return true;
    }
    if (newest.state() == ContainerRecord::EXITED) return ExitedInit(index, newest, starts);
    if (newest.state() != ContainerRecord::RUNNING) {
      if (!sidecar && kube::RestartPolicyOf(pod_, container) == "Never") return GiveUp();
      StopUnknown(newest, "Init container");
      starts.insert(index);
      return true;
    }
    if (sidecar) RunningSidecar(index, newest, later_done, starts);
    return true;
  }

  void RunningSidecar(int index, const ContainerRecord& newest, bool later_done,
                      std::set<int>& starts) {
    const auto& container = pod_.spec().init_containers(index);
    const auto failed = FailedProbe(container, newest);
    if (WaitsForStartup(container, newest)) {
      if (failed != ProbeKind::kStartup) return;
      StopUnhealthy(container, newest, *failed, true);
      starts.insert(index);
      return;
    }
    if (!later_done) InitSucceeded(index, starts);
    if (newest.hash() != ContainerHash(container)) {
      Stop(newest, fmt::format("Init container {} definition changed", container.name()), true);
    } else if (failed) {
      StopUnhealthy(container, newest, *failed, true);
    } else {
      return;
    }
    starts.insert(index);
  }

  bool ExitedInit(int index, const ContainerRecord& newest, std::set<int>& starts) {
    const auto& container = pod_.spec().init_containers(index);
    const int32_t failure = std::max(newest.exit_code(), 1);
    if (kube::IsSidecar(container) || IsReplaced(newest)) {
      starts.insert(index);
    } else if (!HasFailed(newest)) {
      InitSucceeded(index, starts);
    } else if (RestartsAfter(pod_, container, newest, failure)) {
      starts.insert(index);
    } else {
      return GiveUp();
    }
    return true;
  }

  bool GiveUp() {
    todo_.stop.clear();
    KillPod();
    return false;
  }

  void RegularContainers() {
    int kept = 0;
    for (const auto& container : pod_.spec().containers()) {
      const ContainerRecord* newest = NewestRecord(seen_, container.name());
      StopOlder(container.name(), newest);
      if (newest == nullptr || newest->state() != ContainerRecord::RUNNING) {
        const bool wanted =
            ShouldRestart(pod_, container, newest) || (newest != nullptr && IsReplaced(*newest));
        if (!wanted) continue;
        if (newest != nullptr && newest->state() == ContainerRecord::UNKNOWN)
          StopUnknown(*newest, "Container");
        todo_.start.push_back(Start(container));
      } else if (newest->hash() != ContainerHash(container)) {
        Stop(*newest,
             fmt::format("Container {} definition changed, will be restarted", container.name()),
             true);
        todo_.start.push_back(Start(container));
      } else if (const auto failed = FailedProbe(container, *newest)) {
        StopUnhealthy(container, *newest, *failed, false);
        if (todo_.stop.back().replaced) todo_.start.push_back(Start(container));
      } else {
        ++kept;
      }
    }
    if (kept == 0 && todo_.start.empty()) KillPod();
  }

  /// Nothing else is to keep it alive.
  void KillPod() {
    todo_.kill_pod = true;
    todo_.start_init.clear();
    todo_.start_ephemeral.clear();
  }

  const kube::Pod& pod_;
  const ObservedPod& seen_;
  const Ids& replacing_;
  const ProbeResultsById& probes_;
  bool initialised_ = false;
  PodActions todo_;
};

}  // namespace

bool EndsForGood(const PodActions& todo) {
  return todo.kill_pod && !todo.create_sandbox_attempt && todo.start.empty() &&
         todo.start_init.empty() && todo.start_ephemeral.empty();
}

PodActions ComputePodActions(const kube::Pod& pod, const ObservedPod& seen, const Ids& replacing,
                             const ProbeResultsById& probes) {
  return Decision(pod, seen, replacing, probes).Compute();
}

}  // namespace splitlet::pod_worker
