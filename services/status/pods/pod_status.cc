#include "services/status/pods/pod_status.h"

#include <algorithm>

#include "libs/cri/incarnation.h"
#include "libs/kube/resources.h"
#include "services/status/pods/containers.h"
#include "services/status/pods/phase.h"

namespace splitlet::status {
namespace {

/// A kubelet's reason of an event for a pod that it ignores.
constexpr const char* kRefusedGrant = "FailedValidation";

/// What the statuses rest on: the runtime while the pod is synced, the worker's own look from then
/// on.
struct Observation {
  const v1::ObservedPod* pod = nullptr;
  bool covers = false;
};

bool IsEnding(const v1::WorkerRecord* worker) {
  return worker != nullptr && worker->state() != v1::SYNCING &&
         worker->state() != v1::WORKER_STATE_UNSPECIFIED;
}

Observation Choose(const StatusInputs& in) {
  if (!IsEnding(in.worker)) return {in.runtime, in.listing_covers};
  const bool done = IsWorkerDone(in.worker);
  if (in.worker->has_observation()) return {&in.worker->observation(), done};
  if (in.worker->terminal_status().has_observation())
    return {&in.worker->terminal_status().observation(), done};
  return {nullptr, false};
}

/// What an earlier life left says nothing of this one; what has begun in this one and is gone has
/// ended.
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
  // A quantity that does not parse cannot come from a validated pod; no class is better than a
  // wrong one.
  return qos.ok() ? std::string(kube::Name(*qos)) : std::string();
}

template <class Quantities>
void Fill(const kube::Resources& resources, Quantities& out) {
  for (const auto& [name, quantity] : resources) out[name].set_string(quantity.ToString());
}

/// Of the pod as a whole, as allocated: a running pod's do not change.
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

bool IsGranted(const StatusInputs& in) { return in.worker != nullptr && in.worker->granted(); }

bool ShowsContainers(const kube::PodStatus* status) {
  return status != nullptr &&
         status->container_statuses_size() + status->init_container_statuses_size() > 0;
}

/// It waits for room on this node: nothing of it was ever made in this life.
bool Waits(const StatusInputs& in) {
  return in.admission != nullptr && in.admission->decision() == v1::AdmissionRecord::WAITING &&
         !IsGranted(in) && !(ShowsContainers(in.previous) && IsTerminal(in.previous->phase()));
}

/// A manifest that says that its pod is being deleted: nothing is made for it, and nothing is lost.
bool IsDeletedFromTheStart(const StatusInputs& in) {
  const auto none = [](const v1::ObservedPod& pod) { return pod.containers().empty(); };
  return in.pod.metadata().has_deletion_timestamp() && kube::IsStaticSource(in.desired.source()) &&
         !IsGranted(in) && !ShowsContainers(in.previous) &&
         (in.runtime == nullptr || none(*in.runtime)) &&
         (in.worker == nullptr ||
          (in.worker->terminal_status().phase().empty() && none(in.worker->observation())));
}

/// Pending, and no container is shown as being created.
kube::PodStatus NotBegun(const StatusInputs& in) {
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

/// An API pod that was over before this node had to do with it, such as one of the agent before:
/// nobody knows better how it ended.
bool HadEnded(const StatusInputs& in) {
  if (in.previous == nullptr || !IsTerminal(in.previous->phase()) ||
      kube::IsStaticSource(in.desired.source()))
    return false;
  if (IsGranted(in) || (in.worker != nullptr && !in.worker->terminal_status().phase().empty()))
    return false;
  const auto runs = [](const auto& statuses) {
    return std::any_of(statuses.begin(), statuses.end(),
                       [](const auto& status) { return status.state().has_running(); });
  };
  return !runs(in.previous->container_statuses()) && !runs(in.previous->init_container_statuses());
}

bool IsIpv6(const std::string& ip) { return ip.find(':') != std::string::npos; }

/// One address of each family, that of the node's primary address first.
std::vector<std::string> Ordered(const std::vector<std::string>& ips, bool ipv6_first) {
  std::vector<std::string> ordered;
  for (const bool ipv6 : {ipv6_first, !ipv6_first}) {
    for (const auto& ip : ips) {
      if (IsIpv6(ip) != ipv6) continue;
      ordered.push_back(ip);
      break;
    }
  }
  return ordered;
}

std::vector<std::string> PodIps(const StatusInputs& in, const v1::ObservedPod* observed) {
  const bool ipv6_first = !in.host_ips.empty() && IsIpv6(in.host_ips.front());
  if (observed != nullptr && observed->sandboxes_size() > 0) {
    const auto& newest = observed->sandboxes(0);
    if (newest.state() == v1::SandboxRecord::READY && newest.ips_size() > 0)
      return Ordered({newest.ips().begin(), newest.ips().end()}, ipv6_first);
  }
  if (in.pod.spec().host_network()) return Ordered(in.host_ips, ipv6_first);
  // After its sandbox has stopped the pod keeps the addresses it had.
  std::vector<std::string> kept;
  const bool ending = in.worker != nullptr && in.worker->state() > v1::SYNCING;
  if (in.previous != nullptr && (ending || observed == nullptr))
    for (const auto& ip : in.previous->pod_ips()) kept.push_back(ip.ip());
  return kept;
}

void SetIps(const StatusInputs& in, const v1::ObservedPod* observed, kube::PodStatus& status) {
  if (!in.host_ips.empty()) {
    status.set_host_ip(in.host_ips.front());
    for (const auto& ip : Ordered(in.host_ips, IsIpv6(in.host_ips.front())))
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
  return {in.previous->phase(), in.previous->reason(), in.previous->message()};
}

/// A terminal phase shows only when nothing can run any more, and then for ever.
Shown ChoosePhase(const StatusInputs& in, std::string_view computed) {
  Shown before = Previous(in);
  if (IsTerminal(before.phase)) return before;
  if (IsWorkerDone(in.worker)) {
    const auto& ended = in.worker->terminal_status();
    if (!ended.phase().empty()) return {ended.phase(), ended.reason(), ended.message()};
    Shown shown{std::string(computed), in.worker->reason(), in.worker->message()};
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

/// A container that has started and ended, so that the pod was Running at some time.
bool HasRun(const ContainerStatuses& containers) {
  for (const auto& status : containers.regular)
    if (!status.state().has_waiting() || status.last_state().has_terminated()) return true;
  return false;
}

/// Some regular container was made in this life: the runtime or its worker knew it, or it was
/// shown.
bool HasBegun(const StatusInputs& in, const v1::ObservedPod& present) {
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

/// As last shown: what goes last may have gone since.
bool WasRestarting(const kube::PodStatus* previous) {
  if (previous == nullptr) return false;
  const auto& conditions = previous->conditions();
  return std::any_of(conditions.begin(), conditions.end(), [](const auto& condition) {
    return condition.type() == kAllRestarting && condition.status() == "True";
  });
}

/// pod-worker takes no grant of the pod as it is wanted now: what runs is of an older one, or of
/// another agent.
void SetRefusal(const StatusInputs& in, Shown& shown) {
  const bool refused = in.worker != nullptr && !in.worker->refusal().empty();
  if (IsTerminal(shown.phase) || (!refused && shown.reason != kRefusedGrant)) return;
  shown.reason = refused ? kRefusedGrant : "";
  shown.message = refused ? in.worker->refusal() : "";
}

/// A static pod that was refused and is granted after all, or that has waited: what was shown of it
/// then is no floor, nothing had run.
bool WasHeldBackOnly(const StatusInputs& in) {
  if (in.previous == nullptr || !kube::IsStaticSource(in.desired.source()) ||
      ShowsContainers(in.previous))
    return false;
  if (IsTerminal(in.previous->phase())) return IsGranted(in);
  return in.previous->phase() == kPending && !in.previous->reason().empty();
}

/// Of a pod that its worker tends, or soon will.
kube::PodStatus Tended(StatusInputs in) {
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
  // First: it is what the next status is computed from, which must come to the same phase.
  if (done) CloseContainers(in.pod, containers);
  std::string_view computed = ComputePhase({.pod = in.pod,
                                            .containers = containers,
                                            .initialized = IsInitialized(in.pod, seen.pod),
                                            .terminal = done});
  // Such as a static pod whose manifest was replaced while it waited for the one before it.
  if (done && !HasBegun(in, present)) computed = kPending;
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
  return Waits(in) || IsDeletedFromTheStart(in) ? NotBegun(in) : Tended(in);
}

}  // namespace

bool IsWorkerDone(const v1::WorkerRecord* worker) {
  return worker != nullptr &&
         (worker->state() == v1::TERMINATED || worker->state() == v1::FINISHED);
}

kube::PodStatus ComputePodStatus(const StatusInputs& in) {
  if (!in.rejected && HadEnded(in)) return *in.previous;
  kube::PodStatus status = ComputeContent(in);
  // Here, for every status: also one of a pod that is refused before anything else was told of it.
  if (in.pod.metadata().generation() > 0)
    status.set_observed_generation(in.pod.metadata().generation());
  return status;
}

}  // namespace splitlet::status
