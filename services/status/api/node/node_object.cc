#include "services/status/api/node/node_object.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/kube/resources.h"
#include "libs/node/machine.h"

namespace splitlet::status {
namespace {

namespace core = k8s::io::api::core::v1;
using Quantities =
    google::protobuf::Map<std::string, k8s::io::apimachinery::pkg::api::resource::Quantity>;

constexpr size_t kMaxNamesOfAnImage = 5;

bool IsUnspecified(const std::string& ip) { return ip == "0.0.0.0" || ip == "::"; }

bool IsHugePages(std::string_view resource) { return resource.starts_with(kube::kHugePagesPrefix); }

/// A resource of device plugins or of other clients: "example.com/gpu".
bool IsExtended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos &&
         resource.find("kubernetes.io/") == std::string_view::npos &&
         !resource.starts_with("requests.");
}

/// Labels that registration corrects, because the machine may have changed.
const std::vector<std::string>& DefaultLabels() {
  static const std::vector<std::string> labels = {"kubernetes.io/hostname",
                                                  "topology.kubernetes.io/zone",
                                                  "topology.kubernetes.io/region",
                                                  "failure-domain.beta.kubernetes.io/zone",
                                                  "failure-domain.beta.kubernetes.io/region",
                                                  "node.kubernetes.io/instance-type",
                                                  "beta.kubernetes.io/instance-type",
                                                  "kubernetes.io/os",
                                                  "kubernetes.io/arch",
                                                  "beta.kubernetes.io/os",
                                                  "beta.kubernetes.io/arch",
                                                  "node.kubernetes.io/windows-build"};
  return labels;
}

void AddAddress(core::NodeStatus& status, const char* type, const std::string& address) {
  auto& added = *status.add_addresses();
  added.set_type(type);
  added.set_address(address);
}

void UpdateAddresses(const NodeSettings& settings, const NodeObservation& observed,
                     kube::Node& node) {
  const bool specified = !settings.node_ips.empty() && !IsUnspecified(settings.node_ips.front());
  auto& annotations = *node.mutable_metadata()->mutable_annotations();
  annotations.erase(std::string(kProvidedNodeIpAnnotation));
  if (settings.external_cloud && specified) {
    std::string ips;
    for (const auto& ip : settings.node_ips) ips += (ips.empty() ? "" : ",") + ip;
    annotations[std::string(kProvidedNodeIpAnnotation)] = ips;
  }
  auto& status = *node.mutable_status();
  if (settings.external_cloud && status.addresses_size() > 0) return;
  const bool bare = settings.external_cloud && settings.node_ips.empty();
  if (!bare && observed.record.addresses().empty()) return;  // not found yet: keep the old ones
  status.clear_addresses();
  if (!bare)
    for (const auto& ip : observed.record.addresses()) AddAddress(status, "InternalIP", ip);
  AddAddress(status, "Hostname", settings.name);
}

void UpdateResources(const NodeObservation& observed, core::NodeStatus& status) {
  auto& capacity = *status.mutable_capacity();
  auto& allocatable = *status.mutable_allocatable();
  for (const auto& [name, amount] : observed.record.capacity()) capacity[name].set_string(amount);
  for (auto it = allocatable.begin(); it != allocatable.end();)
    it = IsExtended(it->first) && !capacity.contains(it->first) ? allocatable.erase(it)
                                                                : std::next(it);
  // Nothing is reserved of resources that other clients count.
  for (const auto& [name, amount] : capacity) allocatable[name] = amount;
  for (const auto& [name, amount] : observed.record.allocatable())
    allocatable[name].set_string(amount);
}

/// While the volumes are unknown, an entry of this boot may still be mounted; an entry of another
/// boot is not.
void UpdateVolumesInUse(const NodeObservation& observed, core::NodeStatus& status) {
  if (observed.volumes_in_use) {
    status.clear_volumes_in_use();
    for (const auto& name : *observed.volumes_in_use) status.add_volumes_in_use(name);
    return;
  }
  const std::string& reported = status.node_info().boot_id();
  const std::string& now = observed.system.boot_id;
  if (!reported.empty() && !now.empty() && reported != now) status.clear_volumes_in_use();
}

void UpdateSystem(const NodeObservation& observed, core::NodeStatus& status) {
  auto& info = *status.mutable_node_info();
  info.set_machine_id(observed.system.machine_id);
  info.set_system_uuid(observed.system.system_uuid);
  info.set_boot_id(observed.system.boot_id);
  info.set_kernel_version(observed.system.kernel_version);
  info.set_os_image(observed.system.os_image);
  if (!observed.runtime_version.empty()) {
    info.set_container_runtime_version(observed.runtime_version);
  } else if (info.container_runtime_version().empty()) {
    info.set_container_runtime_version("Unknown");
  }
  info.set_kubelet_version(std::string(kKubeletVersion));
  info.clear_kube_proxy_version();
  info.set_operating_system("linux");
  info.set_architecture(std::string(node::Architecture()));
  if (observed.swap_bytes > 0) {
    info.mutable_swap()->set_capacity(observed.swap_bytes);
  } else {
    info.clear_swap();
  }
}

void UpdateImages(const NodeSettings& settings, const NodeObservation& observed,
                  core::NodeStatus& status) {
  if (!observed.images) return;
  std::vector<const peers::NodeImage*> images;
  for (const auto& image : *observed.images) images.push_back(&image);
  std::ranges::stable_sort(images, std::ranges::greater(),
                           [](const peers::NodeImage* image) { return image->size_bytes; });
  if (settings.max_images >= 0 && images.size() > static_cast<size_t>(settings.max_images))
    images.resize(static_cast<size_t>(settings.max_images));
  status.clear_images();
  for (const peers::NodeImage* image : images) {
    auto& shown = *status.add_images();
    for (const auto* names : {&image->digests, &image->tags})
      for (const auto& name : *names)
        if (static_cast<size_t>(shown.names_size()) < kMaxNamesOfAnImage) shown.add_names(name);
    shown.set_size_bytes(static_cast<int64_t>(image->size_bytes));
  }
}

void UpdateFeatures(const NodeObservation& observed, core::NodeStatus& status) {
  const auto& features = observed.record.features();
  if (!features.known()) return;
  status.mutable_features()->set_supplemental_groups_policy(features.supplemental_groups_policy());
  std::vector<const v1::RuntimeHandlerRecord*> handlers;
  for (const auto& handler : features.handlers()) handlers.push_back(&handler);
  std::ranges::sort(handlers, {}, [](const auto* handler) { return handler->name(); });
  status.clear_runtime_handlers();
  for (const auto* handler : handlers) {
    auto& shown = *status.add_runtime_handlers();
    shown.set_name(handler->name());
    shown.mutable_features()->set_recursive_read_only_mounts(handler->recursive_read_only_mounts());
    shown.mutable_features()->set_user_namespaces(handler->user_namespaces());
  }
}

/// The API keeps whole seconds.
void SetWholeSeconds(WallTime time, k8s::io::apimachinery::pkg::apis::meta::v1::Time& into) {
  into.set_seconds(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
  into.clear_nanos();
}

/// lastTransitionTime changes only when the status changes, and never decreases.
void UpdateCondition(const v1::NodeCondition& ours, WallTime now, core::NodeStatus& status) {
  auto& all = *status.mutable_conditions();
  const auto it =
      std::ranges::find_if(all, [&](const auto& one) { return one.type() == ours.type(); });
  const bool is_new = it == all.end();
  auto& condition = is_new ? *status.add_conditions() : *it;
  if (is_new || condition.status() != ours.status()) {
    const int64_t before = condition.last_transition_time().seconds();
    auto& transition = *condition.mutable_last_transition_time();
    SetWholeSeconds(now, transition);
    transition.set_seconds(std::max(before, transition.seconds()));
  }
  condition.set_type(ours.type());
  condition.set_status(ours.status());
  condition.set_reason(ours.reason());
  condition.set_message(ours.message());
  SetWholeSeconds(now, *condition.mutable_last_heartbeat_time());
}

bool Has(const core::NodeStatus& status, const std::string& type) {
  return std::ranges::any_of(status.conditions(),
                             [&](const auto& one) { return one.type() == type; });
}

void UpdateConditions(const NodeObservation& observed, core::NodeStatus& status) {
  for (const auto& ours : observed.record.conditions()) {
    const bool unknown =
        ours.status() == "Unknown" || (ours.type() == "Ready" && observed.readiness_unknown);
    if (unknown && Has(status, ours.type())) continue;  // an unknown condition changes nothing
    UpdateCondition(ours, observed.now, status);
  }
}

}  // namespace

kube::Node MakeInitialNode(const NodeSettings& settings, const NodeObservation& observed) {
  kube::Node node;
  auto& metadata = *node.mutable_metadata();
  metadata.set_name(settings.name);
  for (const auto& [name, value] : InitialLabels(settings))
    (*metadata.mutable_labels())[name] = value;
  if (settings.attach_detach)
    (*metadata.mutable_annotations())[std::string(kAttachDetachAnnotation)] = "true";
  for (const auto& taint : settings.taints) {
    auto& added = *node.mutable_spec()->add_taints();
    added.set_key(taint.key);
    if (!taint.value.empty()) added.set_value(taint.value);
    added.set_effect(taint.effect);
  }
  if (settings.external_cloud) {
    auto& added = *node.mutable_spec()->add_taints();
    added.set_key(std::string(kExternalCloudTaint));
    added.set_value("true");
    added.set_effect("NoSchedule");
  }
  if (!settings.provider_id.empty()) node.mutable_spec()->set_provider_id(settings.provider_id);
  UpdateNode(settings, observed, node);
  return node;
}

void UpdateNode(const NodeSettings& settings, const NodeObservation& observed, kube::Node& node) {
  auto& labels = *node.mutable_metadata()->mutable_labels();
  labels[std::string(kube::kOsLabel)] = "linux";
  labels[std::string(kube::kArchLabel)] = std::string(node::Architecture());
  auto& status = *node.mutable_status();
  UpdateAddresses(settings, observed, node);
  UpdateResources(observed, status);
  UpdateVolumesInUse(observed, status);  // before UpdateSystem sets the new boot id
  UpdateSystem(observed, status);
  if (settings.port > 0)
    status.mutable_daemon_endpoints()->mutable_kubelet_endpoint()->set_port(settings.port);
  UpdateImages(settings, observed, status);
  UpdateFeatures(observed, status);
  status.clear_declared_features();
  for (const std::string& feature : settings.declared_features)
    status.add_declared_features(feature);
  UpdateConditions(observed, status);
}

void ReconcileNode(const kube::Node& initial, bool reset_extended, kube::Node& existing) {
  auto& annotations = *existing.mutable_metadata()->mutable_annotations();
  const std::string attach_detach(kAttachDetachAnnotation);
  const auto& wanted = initial.metadata().annotations();
  if (const auto it = wanted.find(attach_detach); it != wanted.end()) {
    annotations[attach_detach] = it->second;
  } else {
    annotations.erase(attach_detach);
  }
  auto& labels = *existing.mutable_metadata()->mutable_labels();
  for (const auto& name : DefaultLabels()) {
    const auto it = initial.metadata().labels().find(name);
    if (it == initial.metadata().labels().end()) continue;
    if (it->second.empty()) {
      labels.erase(name);
    } else {
      labels[name] = it->second;
    }
  }
  auto& status = *existing.mutable_status();
  for (const bool is_capacity : {true, false}) {
    const auto& ours = is_capacity ? initial.status().capacity() : initial.status().allocatable();
    Quantities& theirs = is_capacity ? *status.mutable_capacity() : *status.mutable_allocatable();
    if (theirs.empty()) theirs = ours;
    for (auto& [name, amount] : theirs)
      if (reset_extended && IsExtended(name)) amount.set_string("0");
    for (auto it = theirs.begin(); it != theirs.end();)
      it = IsHugePages(it->first) && !ours.contains(it->first) ? theirs.erase(it) : std::next(it);
    for (const auto& [name, amount] : ours)
      if (IsHugePages(name)) theirs[name] = amount;
  }
}

}  // namespace splitlet::status
