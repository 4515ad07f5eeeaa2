#include "services/sync-loop/admission/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/resources.h"
#include "libs/kube/user_namespace.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

using Ground = Refusal::Ground;
constexpr std::string_view kMemoryPressure = "MemoryPressure";
constexpr std::string_view kClaims = "DynamicResourceAllocation";

/// Resources that are always known to a node, in the order in which lacks are reported.
constexpr std::array kBasic = {kube::kCpu, kube::kMemory, kube::kEphemeralStorage};

std::optional<Refusal> PressureRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (input.pressure.empty() || kube::IsCritical(input.pod)) return std::nullopt;
  if (input.pressure.size() == 1 && input.pressure[0] == kMemoryPressure) {
    const auto qos = kube::QosOf(input.pod);
    if (qos.ok() && *qos != kube::QosClass::kBestEffort) return std::nullopt;
    if (kube::Tolerates(input.pod.spec(), {"node.kubernetes.io/memory-pressure", "", "NoSchedule"}))
      return std::nullopt;
  }
  return Refusal{Ground::kPressure, "Evicted",
                 fmt::format("The node had condition: [{}]. ", fmt::join(input.pressure, " "))};
}

bool IsDevice(const AdmissionInput& input, const std::string& resource) {
  return input.devices != nullptr && input.devices->contains(resource);
}

/// The pod was admitted before, by this program or by a kubelet.
bool HasRun(const kube::Pod& pod) {
  const std::string& phase = pod.status().phase();
  return !phase.empty() && phase != "Pending";
}

/// Features that this node does not declare. API servers refuse them unless their gates are set.
std::vector<std::string_view> LackingFeatures(const kube::PodSpec& spec) {
  std::vector<std::string_view> lacking;
  if (spec.resource_claims_size() > 0) lacking.emplace_back(kClaims);
  if (kube::HasUserNamespace(spec) && spec.host_network())
    lacking.emplace_back("UserNamespacesHostNetworkSupport");
  return lacking;
}

std::string LackText(const std::vector<std::string_view>& lacking) {
  if (lacking.empty()) return "";
  return fmt::format("Pod requires node features that are not available: {}",
                     fmt::join(lacking, ", "));
}

std::optional<Refusal> PodResourcesRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (input.pod_resources || !input.pod.spec().has_resources()) return std::nullopt;
  return Refusal{Ground::kPod, "PodLevelResourcesNotSupported",
                 "PodLevelResources feature gate is disabled"};
}

std::optional<Refusal> FeatureRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  auto lacking = LackingFeatures(input.pod.spec());
  if (HasRun(input.pod)) std::erase(lacking, kClaims);
  if (lacking.empty()) return std::nullopt;
  return Refusal{Ground::kPod, "PodFeatureUnsupported", LackText(lacking)};
}

/// Refuses critical pods too.
std::optional<Refusal> ShutdownRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (!input.shutting_down) return std::nullopt;
  return Refusal{Ground::kPressure, "NodeShutdown",
                 "Pod was rejected as the node is shutting down."};
}

std::optional<Refusal> SysctlRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  std::string why = input.sysctls.WhyForbidden(input.pod.spec());
  if (why.empty()) return std::nullopt;
  return Refusal{Ground::kPod, "SysctlForbidden", std::move(why)};
}

/// pod-worker allocates no devices: a resource with healthy devices belongs to another program.
std::optional<Refusal> DeviceRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (input.devices == nullptr || HasRun(input.pod)) return std::nullopt;
  for (const auto& [resource, requested] : input.requests.amounts) {
    const auto device = input.devices->find(resource);
    if (device == input.devices->end() || device->second > 0) continue;
    return Refusal{Ground::kPod, "UnexpectedAdmissionError",
                   fmt::format("Allocate failed due to no healthy devices present; cannot allocate "
                               "unhealthy devices {}, which is unexpected",
                               resource)};
  }
  return std::nullopt;
}

std::optional<Refusal> OsRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  const auto& labels = input.pod.metadata().labels();
  const auto wanted = labels.find(std::string(kube::kOsLabel));
  if (wanted != labels.end()) {
    std::string os = "linux";
    if (input.node != nullptr && input.node->labels.contains(std::string(kube::kOsLabel)))
      os = input.node->labels.at(std::string(kube::kOsLabel));
    if (wanted->second != os)
      return Refusal{
          Ground::kPod, "PodOSSelectorNodeLabelDoesNotMatch",
          "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"};
  }
  if (input.pod.spec().has_os() && input.pod.spec().os().name() != "linux")
    return Refusal{Ground::kPod, "PodOSNotSupported",
                   "Failed to admit pod as the OS field doesn't match node OS"};
  return std::nullopt;
}

NodeAbilities AbilitiesOf(const AdmissionInput& input) {
  return input.node == nullptr ? NodeAbilities() : input.node->abilities;
}

std::optional<Refusal> GroupsRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (!AsksForStrictGroups(input.pod) || AbilitiesOf(input).strict_groups) return std::nullopt;
  return Refusal{Ground::kPod, "SupplementalGroupsPolicyNotSupported",
                 "SupplementalGroupsPolicy=Strict is not supported in this node"};
}

std::optional<Refusal> AppArmorRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (HasRun(input.pod)) return std::nullopt;  // the profile was enforced when it started
  if (!AsksForAppArmor(input.pod) || AbilitiesOf(input).apparmor) return std::nullopt;
  return Refusal{Ground::kPod, "AppArmor",
                 "Cannot enforce AppArmor: AppArmor is not enabled on the host"};
}

std::optional<Refusal> UserNamespaceRefusal(const AdmissionInput& input, const NodeLoad& /*load*/) {
  if (!kube::HasUserNamespace(input.pod.spec()) ||
      MayHave(AbilitiesOf(input).user_namespaces, input.pod))
    return std::nullopt;
  return Refusal{Ground::kPod, "UserNamespacesNotSupported",
                 "can't set `spec.hostUsers: false`, runtime does not support user namespaces"};
}

Refusal Lack(std::string_view resource, int64_t requested, int64_t used, int64_t capacity) {
  return {Ground::kResources, fmt::format("OutOf{}", resource),
          fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                      resource, requested, used, capacity)};
}

std::optional<Refusal> LackOf(const AdmissionInput& input, const NodeLoad& load,
                              const std::string& resource, int64_t requested) {
  const auto it = input.node->allocatable.find(resource);
  if (IsDevice(input, resource)) return std::nullopt;
  // Cluster-level resources, which the node does not list, are not the node's to check.
  if (it == input.node->allocatable.end() && IsExtended(resource)) return std::nullopt;
  const int64_t capacity = it == input.node->allocatable.end() ? 0 : it->second;
  const int64_t used = load.Used(resource);
  if (requested <= capacity - used) return std::nullopt;
  return Lack(resource, requested, used, capacity);
}

std::optional<Refusal> ResourceRefusal(const AdmissionInput& input, const NodeLoad& load) {
  if (input.node == nullptr || input.node->allocatable.empty()) return std::nullopt;
  const auto pods = input.node->allocatable.find("pods");
  const int64_t max_pods = pods == input.node->allocatable.end() ? input.max_pods : pods->second;
  const int64_t count = static_cast<int64_t>(load.pods());
  if (count + 1 > max_pods) return Lack("pods", 1, count, max_pods);
  for (const auto basic : kBasic) {
    const auto it = input.requests.amounts.find(std::string(basic));
    if (it == input.requests.amounts.end()) continue;
    if (auto lack = LackOf(input, load, it->first, it->second)) return lack;
  }
  for (const auto& [resource, requested] : input.requests.amounts) {
    if (std::find(kBasic.begin(), kBasic.end(), resource) != kBasic.end()) continue;
    if (auto lack = LackOf(input, load, resource, requested)) return lack;
  }
  return std::nullopt;
}

Refusal PredicateFailed(Ground ground, std::string_view predicate, std::string_view why) {
  return {ground, std::string(predicate), fmt::format("Predicate {} failed: {}", predicate, why)};
}

std::optional<Refusal> PlacementRefusal(const AdmissionInput& input, const NodeLoad& load) {
  const auto& spec = input.pod.spec();
  if (input.node != nullptr && !kube::MatchesNode(spec, input.node->labels, input.node_name))
    return PredicateFailed(Ground::kNodeLabels, "NodeAffinity",
                           "node(s) didn't match Pod's node affinity/selector");
  if (!spec.node_name().empty() && spec.node_name() != input.node_name)
    return PredicateFailed(Ground::kPod, "NodeName",
                           "node(s) didn't match the requested node name");
  const auto& ports = input.requests.ports;
  if (!std::all_of(ports.begin(), ports.end(),
                   [&load](const HostPort& port) { return load.IsFree(port); }))
    return PredicateFailed(Ground::kHostPorts, "NodePorts",
                           "node(s) didn't have free ports for the requested pod ports");
  if (input.node == nullptr || kube::IsStatic(input.pod)) return std::nullopt;
  for (const kube::Taint& taint : input.node->taints) {
    if (taint.effect == "NoExecute" && !kube::Tolerates(spec, taint))
      return PredicateFailed(Ground::kNodeLabels, "TaintToleration",
                             "node(s) had taints that the pod didn't tolerate");
  }
  return std::nullopt;
}

}  // namespace

NodeDigest ReadNode(const v1::NodeRecord& record) {
  NodeDigest node;
  node.name = record.name();
  node.registered = record.registered();
  node.labels = {record.labels().begin(), record.labels().end()};
  for (const auto& taint : record.taints())
    node.taints.push_back({taint.key(), taint.value(), taint.effect()});
  for (const auto& [resource, quantity] : record.allocatable()) {
    const auto amount = AmountOf(resource, quantity);
    if (amount.ok()) node.allocatable[resource] = *amount;
  }
  const auto& features = record.features();
  node.abilities = {.known = features.known(),
                    .strict_groups = features.supplemental_groups_policy(),
                    .apparmor = features.apparmor()};
  for (const auto& handler : features.handlers()) {
    auto& can = node.abilities.user_namespaces;
    if (handler.name().empty()) can.first = handler.user_namespaces();
    can.any = can.any || handler.user_namespaces();
  }
  return node;
}

std::string LackAfterEdit(const kube::PodSpec& before, const kube::PodSpec& after) {
  auto lacking = LackingFeatures(after);
  for (const std::string_view old : LackingFeatures(before)) std::erase(lacking, old);
  return LackText(lacking);
}

std::optional<Refusal> FindRefusal(const AdmissionInput& input, const NodeLoad& load) {
  using Find = std::optional<Refusal> (*)(const AdmissionInput&, const NodeLoad&);
  std::array<Find, 12> order = {PressureRefusal,  SysctlRefusal,   DeviceRefusal,
                                OsRefusal,        GroupsRefusal,   ResourceRefusal,
                                PlacementRefusal, AppArmorRefusal, PodResourcesRefusal,
                                FeatureRefusal,   ShutdownRefusal, UserNamespaceRefusal};
  // Preemption can free resources for a critical pod, so refusals that it cannot mend come first.
  if (kube::IsCritical(input.pod)) {
    const auto resources = std::find(order.begin(), order.end(), &ResourceRefusal);
    std::rotate(resources, resources + 1, order.end());
  }
  for (const Find find : order) {
    if (auto refusal = find(input, load)) return refusal;
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kExtended = "OutOfExtendedResources", kOther = "Other";
constexpr std::array<std::string_view, 15> kKept = {"AppArmor",
                                                    "SupplementalGroupsPolicyNotSupported",
                                                    "PodLevelResourcesNotSupported",
                                                    "PodFeatureUnsupported",
                                                    "Evicted",
                                                    "SysctlForbidden",
                                                    "PodOSSelectorNodeLabelDoesNotMatch",
                                                    "PodOSNotSupported",
                                                    "OutOfcpu",
                                                    "OutOfmemory",
                                                    "OutOfephemeral-storage",
                                                    "OutOfpods",
                                                    "InvalidNodeInfo",
                                                    "NodeShutdown",
                                                    "UnexpectedAdmissionError"};

}  // namespace

std::string ReasonLabel(const Refusal& refusal) {
  const bool kept = std::find(kKept.begin(), kKept.end(), refusal.reason) != kKept.end();
  if (kept) return refusal.reason;
  return std::string(refusal.ground == Ground::kResources ? kExtended : kOther);
}

std::vector<std::string> ReasonLabels() {
  std::vector<std::string> labels(kKept.begin(), kKept.end());
  labels.emplace_back(kExtended);
  labels.emplace_back(kOther);
  return labels;
}

}  // namespace splitlet::sync_loop
