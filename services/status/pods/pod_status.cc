#include "services/status/pods/pod_status.h"

#include <algorithm>

#include "libs/cri/incarnation.h"
#include "libs/kube/resources.h"
#include "libs/node/ip_family.h"
#include "libs/peers/worker_standing.h"
#include "services/status/pods/containers.h"
#include "services/status/pods/phase.h"
#include "services/status/pods/pod_conditions.h"

namespace splitlet::status {
namespace {

/// Reason of a kubelet's event for a pod that it ignores.
constexpr const char* kRefusedGrant = "FailedValidation";

/// The observation that a status is computed from: that of the runtime while the pod syncs, then
/// the worker's last inspection.
struct Observation {
  const v1::ObservedPod* pod = nullptr;
  bool covers = false;
};

bool IsEnding(const v1::WorkerRecord* worker) {
  using enum peers::WorkerStanding;
  const auto standing = peers::ComputeWorkerStanding(worker != nullptr, worker);
  return standing == kTerminating || standing == kTerminated || standing == kFinished;
}

Observation Choose(const StatusInputs& in) {
  if (!IsEnding(in.worker)) return {.pod = in.runtime, .covers = in.listing_covers};
  const bool done = IsWorkerDone(in.worker);
  if (in.worker->has_observation()) return {.pod = &in.worker->observation(), .covers = done};
  if (in.worker->terminal_status().has_observation())
    return {.pod = &in.worker->terminal_status().observation(), .covers = done};
  return {};
}

/// Leaves out containers of earlier incarnations. Adds those that this incarnation started and that
/// are gone: they are lost.
v1::ObservedPod PresentIncarnation(const StatusInputs& in, const Observation& seen) {
  v1::ObservedPod present;
  if (seen.pod != nullptr) present = cri::PresentIncarnation(*seen.pod, in.desired.incarnation());
  if (seen.covers && in.worker != nullptr)
    cri::AddLost(in.pod, cri::FromProto(in.worker->started_attempts()), present);
  return present;
}

bool IsDeleted(const StatusInputs& in) {
  return in.pod.metadata().has_deletion_timestamp() ||
         in.desired.state() == v1::DesiredRecord::REMOVED;
}

std::string QosName(const kube::Pod& pod) {
  const auto qos = kube::QosOf(pod);
  // A validated pod has only quantities that parse; no class is better than a wrong one.
  return qos.ok() ? std::string(kube::Name(*qos)) : std::string();
}

template <class Quantities>
void Fill(const kube::Resources& resources, Quantities& out) {
  for (const auto& [name, quantity] : resources) out[name].set_string(quantity.ToString());
}

/// The allocated resources of the whole pod; they do not change while it runs.
void SetPodResources(const kube::Pod& pod, kube::PodStatus& status) {
  const auto requests = kube::PodRequests(pod), limits = kube::PodLimits(pod);
  if (!requests.ok() || !limits.ok() || (requests->empty() && limits->empty())) return;
  Fill(*requests, *status.mutable_allocated_resources());
  Fill(*requests, *status.mutable_resources()->mutable_requests());
  Fill(*limits, *status.mutable_resources()->mutable_limits());
}

kube::PodStatus Rejected(const StatusInputs& in) {
  kube::PodStatus status;
  status.set_phase(std::string(kFailed));
  status.set_reason(in.admission->reason());
  status.set_message("Pod was rejected: " + in.admission->message());
  if (auto qos = QosName(in.pod); !qos.empty()) status.set_qos_class(std::move(qos));
  if (in.previous != nullptr && in.previous->has_start_time()) {
    *status.mutable_start_time() = in.previous->start_time();
  } else {
    SetTime(status.mutable_start_time(), in.admission->decided_at_wall_ns());
  }
  return status;
}

bool ShowsContainers(const kube::PodStatus* status) {
  return status != nullptr &&
         status->container_statuses_size() + status->init_container_statuses_size() > 0;
}

/// The pod waits for resources of this node: nothing was created for this incarnation.
bool Waits(const StatusInputs& in) {
  return in.admission != nullptr && in.admission->decision() == v1::AdmissionRecord::WAITING &&
         !IsGranted(in.worker) &&
         !(ShowsContainers(in.previous) && IsTerminal(in.previous->phase()));
}

/// The manifest has a deletion timestamp: nothing was created for the pod, and nothing is lost.
bool IsDeletedFromTheStart(const StatusInputs& in) {
  const auto none = [](const v1::ObservedPod& pod) { return pod.containers().empty(); };
  return in.pod.metadata().has_deletion_timestamp() && kube::IsStaticSource(in.desired.source()) &&
         !IsGranted(in.worker) && !ShowsContainers(in.previous) &&
         (in.runtime == nullptr || none(*in.runtime)) &&
         (in.worker == nullptr ||
          (in.worker->terminal_status().phase().empty() && none(in.worker->observation())));
}

/// Pending, without container statuses.
kube::PodStatus NotStarted(const StatusInputs& in) {
  kube::PodStatus status;
  status.set_phase(std::string(kPending));
  if (Waits(in)) {
    status.set_reason(in.admission->reason());
    status.set_message(in.admission->message());
  }
  if (auto qos = QosName(in.pod); !qos.empty()) status.set_qos_class(std::move(qos));
  const ContainerStatuses none;
  AddConditions({.pod = in.pod,
                 .containers = none,
                 .previous = in.previous,
                 .sandbox_condition = in.sandbox_condition,
                 .now = in.now},
                status);
  return status;
}

/// An API pod ended before this program had a worker for it, for example under another agent: its
/// status stays as it is.
bool EndedBefore(const StatusInputs& in) {
  if (in.previous == nullptr || !IsTerminal(in.previous->phase()) ||
      kube::IsStaticSource(in.desired.source()))
    return false;
  if (IsGranted(in.worker) ||
      (in.worker != nullptr && !in.worker->terminal_status().phase().empty()))
    return false;
  const auto runs = [](const auto& statuses) {
    return std::any_of(statuses.begin(), statuses.end(),
                       [](const auto& status) { return status.state().has_running(); });
  };
  return !runs(in.previous->container_statuses()) && !runs(in.previous->init_container_statuses());
}

/// An address of each family; the family of the node's primary address first.
std::vector<std::string> Ordered(const std::vector<std::string>& ips, bool ipv6_first) {
  std::vector<std::string> ordered;
  for (const bool ipv6 : {ipv6_first, !ipv6_first}) {
    for (const auto& ip : ips) {
      if (node::IsIpv6(ip) != ipv6) continue;
      ordered.push_back(ip);
      break;
    }
  }
  return ordered;
}

std::vector<std::string> PodIps(const StatusInputs& in, const v1::ObservedPod* observed) {
  const bool ipv6_first = !in.host_ips.empty() && node::IsIpv6(in.host_ips.front());
  if (observed != nullptr && observed->sandboxes_size() > 0) {
    const auto& newest = observed->sandboxes(0);
    if (newest.state() == v1::SandboxRecord::READY && newest.ips_size() > 0)
      return Ordered({newest.ips().begin(), newest.ips().end()}, ipv6_first);
  }
  if (in.pod.spec().host_network()) return Ordered(in.host_ips, ipv6_first);
  // A pod keeps its addresses after its sandbox has stopped.
  std::vector<std::string> kept;
  if (in.previous != nullptr && (IsEnding(in.worker) || observed == nullptr))
    for (const auto& ip : in.previous->pod_ips()) kept.push_back(ip.ip());
  return kept;
}

void SetIps(const StatusInputs& in, const v1::ObservedPod* observed, kube::PodStatus& status) {
  if (!in.host_ips.empty()) {
    status.set_host_ip(in.host_ips.front());
    for (const auto& ip : Ordered(in.host_ips, node::IsIpv6(in.host_ips.front())))
      status.add_host_ips()->set_ip(ip);
  }
  const auto ips = PodIps(in, observed);
  if (ips.empty()) return;
  status.set_pod_ip(ips.front());
  for (const auto& ip : ips) status.add_pod_ips()->set_ip(ip);
}

struct Shown {
  std::string phase, reason, message;
};

Shown Previous(const StatusInputs& in) {
  if (in.previous == nullptr) return {};
  return {.phase = in.previous->phase(),
          .reason = in.previous->reason(),
          .message = in.previous->message()};
}

/// A terminal phase is shown only when no container can run again, and is then never left.
Shown ChoosePhase(const StatusInputs& in, std::string_view computed) {
  Shown before = Previous(in);
  if (IsTerminal(before.phase)) return before;
  if (IsWorkerDone(in.worker)) {
    const auto& ended = in.worker->terminal_status();
    if (!ended.phase().empty())
      return {.phase = ended.phase(), .reason = ended.reason(), .message = ended.message()};
    Shown shown{.phase = std::string(computed),
                .reason = in.worker->reason(),
                .message = in.worker->message()};
    if (!in.worker->evicted()) shown.reason = shown.message = {};
    if (!IsTerminal(computed) && !kube::IsStatic(in.pod)) shown.phase = std::string(kFailed);
    return shown;
  }
  if (!IsTerminal(computed)) {
    if (before.phase != computed) before.reason = before.message = {};
    before.phase = std::string(computed);
    return before;
  }
  if (before.phase.empty()) before.phase = std::string(kRunning);
  return before;
}

/// A container has started, so that the pod was Running at some time.
bool HasRun(const ContainerStatuses& containers) {
  for (const auto& status : containers.regular)
    if (!status.state().has_waiting() || status.last_state().has_terminated()) return true;
  return false;
}

/// A regular container was created in this incarnation: the runtime or the worker knows it, or the
/// last status shows it.
bool HasContainers(const StatusInputs& in, const v1::ObservedPod& present) {
  for (const auto& container : in.pod.spec().containers()) {
    const auto same = [&](const auto& one) { return one.name() == container.name(); };
    if (std::any_of(present.containers().begin(), present.containers().end(), same)) return true;
    if (in.previous == nullptr) continue;
    for (const auto& shown : in.previous->container_statuses())
      if (same(shown) && !shown.container_id().empty()) return true;
  }
  return false;
}

void SetStart(const StatusInputs& in, kube::PodStatus& status) {
  if (in.worker != nullptr && in.worker->start_time_wall_ns() > 0) {
    SetTime(status.mutable_start_time(), in.worker->start_time_wall_ns());
  } else if (in.previous != nullptr && in.previous->has_start_time()) {
    *status.mutable_start_time() = in.previous->start_time();
  }
}

std::string Disrupted(const StatusInputs& in, std::string_view phase) {
  if (in.worker == nullptr || !in.worker->evicted() || in.worker->own_limit() || !IsTerminal(phase))
    return {};
  if (in.worker->reason() == "Preempting" || in.worker->terminal_status().reason() == "Preempting")
    return "Pod was preempted by Kubelet to accommodate a critical pod.";
  const std::string& message = in.worker->terminal_status().message();
  if (!message.empty()) return message;
  return in.worker->message().empty() ? "evicted" : in.worker->message();
}

/// The last status shows that all containers restart. The record that causes it may be gone by now.
bool WasRestarting(const kube::PodStatus* previous) {
  if (previous == nullptr) return false;
  const auto& conditions = previous->conditions();
  return std::any_of(conditions.begin(), conditions.end(), [](const auto& condition) {
    return condition.type() == kAllRestarting && condition.status() == "True";
  });
}

/// pod-worker refuses the grant of the pod as it is wanted now. Running containers are of an older
/// grant, or of another agent.
void SetRefusal(const StatusInputs& in, Shown& shown) {
  const bool refused = in.worker != nullptr && !in.worker->refusal().empty();
  if (IsTerminal(shown.phase) || (!refused && shown.reason != kRefusedGrant)) return;
  shown.reason = refused ? kRefusedGrant : "";
  shown.message = refused ? in.worker->refusal() : "";
}

/// A static pod was refused and is granted now, or has waited. No container had run, so its last
/// status may be left.
bool WasHeldBackOnly(const StatusInputs& in) {
  if (in.previous == nullptr || !kube::IsStaticSource(in.desired.source()) ||
      ShowsContainers(in.previous))
    return false;
  if (IsTerminal(in.previous->phase())) return IsGranted(in.worker);
  return in.previous->phase() == kPending && !in.previous->reason().empty();
}

/// Status of a pod that has a worker, or will have one soon.
kube::PodStatus Synced(StatusInputs in) {
  if (WasHeldBackOnly(in)) in.previous = nullptr;
  Observation seen = Choose(in);
  const v1::ObservedPod present = PresentIncarnation(in, seen);
  if (seen.pod != nullptr || present.containers_size() > 0) seen.pod = &present;
  const bool done = IsWorkerDone(in.worker);
  const bool restarting = !done && AllRestart(in.pod, seen.pod);
  ContainerStatuses containers =
      ComputeContainers({.pod = in.pod,
                         .observed = seen.pod,
                         .worker = in.worker,
                         .previous = in.previous,
                         .mirror = in.mirror,
                         .covers = seen.covers,
                         .workers_live = in.workers_live,
                         .deleted = IsDeleted(in) || done,
                         .restarting = restarting || WasRestarting(in.previous),
                         .features = in.features});
  // Before the phase: the next status starts from these containers, and must find the same phase.
  if (done) CloseContainers(in.pod, containers);
  std::string_view computed = ComputePhase({.pod = in.pod,
                                            .containers = containers,
                                            .initialized = IsInitialized(in.pod, seen.pod),
                                            .terminal = done});
  // For example a static pod whose manifest was replaced while it waited for an earlier pod.
  if (done && !HasContainers(in, present)) computed = kPending;
  Shown shown = ChoosePhase(in, computed);
  if (!done && IsTerminal(computed) && in.previous == nullptr && !HasRun(containers))
    shown.phase = std::string(kPending);
  SetRefusal(in, shown);

  kube::PodStatus status;
  status.set_phase(shown.phase);
  if (!shown.reason.empty()) status.set_reason(shown.reason);
  if (!shown.message.empty()) status.set_message(shown.message);
  if (auto qos = QosName(in.pod); !qos.empty()) status.set_qos_class(std::move(qos));
  SetPodResources(in.pod, status);
  SetStart(in, status);
  SetIps(in, seen.pod, status);
  AddConditions({.pod = in.pod,
                 .containers = containers,
                 .observed = seen.pod,
                 .sandbox_as_shown = seen.pod == nullptr && IsEnding(in.worker) && !done,
                 .previous = in.previous,
                 .restarting = restarting,
                 .resize_refused = in.resize_refused && !done,
                 .sandbox_condition = in.sandbox_condition,
                 .disrupted = Disrupted(in, shown.phase),
                 .now = in.now},
                status);
  for (auto& one : containers.init) *status.add_init_container_statuses() = std::move(one);
  for (auto& one : containers.regular) *status.add_container_statuses() = std::move(one);
  for (auto& one : containers.ephemeral)
    *status.add_ephemeral_container_statuses() = std::move(one);
  return status;
}

kube::PodStatus ComputeContent(const StatusInputs& in) {
  if (in.rejected) return Rejected(in);
  return Waits(in) || IsDeletedFromTheStart(in) ? NotStarted(in) : Synced(in);
}

}  // namespace

bool IsGranted(const v1::WorkerRecord* worker) { return worker != nullptr && worker->granted(); }

bool IsWorkerDone(const v1::WorkerRecord* worker) {
  return worker != nullptr &&
         (worker->state() == v1::TERMINATED || worker->state() == v1::FINISHED);
}

kube::PodStatus ComputePodStatus(const StatusInputs& in) {
  if (!in.rejected && EndedBefore(in)) return *in.previous;
  kube::PodStatus status = ComputeContent(in);
  // For every status, also that of a refused pod.
  if (in.pod.metadata().generation() > 0)
    status.set_observed_generation(in.pod.metadata().generation());
  return status;
}

}  // namespace splitlet::status
