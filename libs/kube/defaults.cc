#include "libs/kube/defaults.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/huge_pages.h"
#include "libs/kube/resources.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

template <class Map>
Status RoundUp(Map& amounts) {
  for (auto& [name, amount] : amounts) {
    ASSIGN_OR_RETURN(const auto quantity, Quantity::Parse(amount.string()), "resource {}", name);
    amount.set_string(quantity.RoundedUpToMilli().ToString());
  }
  return OkStatus();
}

Status RoundUp(ResourceRequirements& requirements) {
  RETURN_IF_ERROR(RoundUp(*requirements.mutable_requests()), "requests");
  RETURN_IF_ERROR(RoundUp(*requirements.mutable_limits()), "limits");
  return OkStatus();
}

template <class HttpGet>
void DefaultHttpGet(HttpGet& get) {
  if (get.path().empty()) get.set_path("/");
  if (get.scheme().empty()) get.set_scheme("HTTP");
}

void DefaultProbe(core::Probe& probe) {
  if (probe.timeout_seconds() == 0) probe.set_timeout_seconds(1);
  if (probe.period_seconds() == 0) probe.set_period_seconds(10);
  if (probe.success_threshold() == 0) probe.set_success_threshold(1);
  if (probe.failure_threshold() == 0) probe.set_failure_threshold(3);
  if (probe.handler().has_http_get()) DefaultHttpGet(*probe.mutable_handler()->mutable_http_get());
  if (probe.handler().has_grpc() && !probe.handler().grpc().has_service())
    probe.mutable_handler()->mutable_grpc()->set_service("");
}

void DefaultHandler(core::LifecycleHandler& handler) {
  if (handler.has_http_get()) DefaultHttpGet(*handler.mutable_http_get());
}

void DefaultEnv(core::EnvVar& env) {
  auto& from = *env.mutable_value_from();
  if (from.has_field_ref() && from.field_ref().api_version().empty())
    from.mutable_field_ref()->set_api_version("v1");
  if (from.has_file_key_ref() && !from.file_key_ref().has_optional())
    from.mutable_file_key_ref()->set_optional(false);
}

/// The containers of all three lists.
template <class C>
Status DefaultContainer(C& container) {
  if (container.image_pull_policy().empty())
    container.set_image_pull_policy(std::string(DefaultPullPolicy(container.image())));
  if (container.termination_message_path().empty())
    container.set_termination_message_path("/dev/termination-log");
  if (container.termination_message_policy().empty())
    container.set_termination_message_policy("File");
  for (auto& port : *container.mutable_ports())
    if (port.protocol().empty()) port.set_protocol("TCP");
  for (auto& env : *container.mutable_env())
    if (env.has_value_from()) DefaultEnv(env);
  if (container.has_liveness_probe()) DefaultProbe(*container.mutable_liveness_probe());
  if (container.has_readiness_probe()) DefaultProbe(*container.mutable_readiness_probe());
  if (container.has_startup_probe()) DefaultProbe(*container.mutable_startup_probe());
  if (container.has_lifecycle()) {
    auto& lifecycle = *container.mutable_lifecycle();
    if (lifecycle.has_post_start()) DefaultHandler(*lifecycle.mutable_post_start());
    if (lifecycle.has_pre_stop()) DefaultHandler(*lifecycle.mutable_pre_stop());
  }
  RETURN_IF_ERROR(RoundUp(*container.mutable_resources()), "container {}", container.name());
  return OkStatus();
}

/// Defaults that depend on others: requests from limits, host ports with the host network.
void DefaultRunContainer(Container& container, bool host_network) {
  auto& resources = *container.mutable_resources();
  for (const auto& [name, limit] : resources.limits())
    if (!resources.requests().contains(name)) (*resources.mutable_requests())[name] = limit;
  if (!host_network) return;
  for (auto& port : *container.mutable_ports())
    if (port.host_port() == 0) port.set_host_port(port.container_port());
}

template <class Items>
void DefaultDownwardItems(Items& items) {
  for (auto& item : items)
    if (item.has_field_ref() && item.field_ref().api_version().empty())
      item.mutable_field_ref()->set_api_version("v1");
}

void DefaultProjected(core::ProjectedVolumeSource& projected) {
  if (!projected.has_default_mode()) projected.set_default_mode(0644);
  for (auto& source : *projected.mutable_sources()) {
    if (source.has_downward_api())
      DefaultDownwardItems(*source.mutable_downward_api()->mutable_items());
    if (source.has_service_account_token() &&
        !source.service_account_token().has_expiration_seconds())
      source.mutable_service_account_token()->set_expiration_seconds(3600);
  }
}

void DefaultLegacyDisks(core::VolumeSource& source) {
  if (source.has_iscsi() && source.iscsi().iscsi_interface().empty())
    source.mutable_iscsi()->set_iscsi_interface("default");
  if (source.has_rbd()) {
    auto& rbd = *source.mutable_rbd();
    if (rbd.pool().empty()) rbd.set_pool("rbd");
    if (rbd.user().empty()) rbd.set_user("admin");
    if (rbd.keyring().empty()) rbd.set_keyring("/etc/ceph/keyring");
  }
  if (source.has_azure_disk()) {
    auto& disk = *source.mutable_azure_disk();
    if (!disk.has_caching_mode()) disk.set_caching_mode("ReadWrite");
    if (!disk.has_fs_type()) disk.set_fs_type("ext4");
    if (!disk.has_read_only()) disk.set_read_only(false);
    if (!disk.has_kind()) disk.set_kind("Shared");
  }
  if (source.has_scale_io()) {
    auto& scale = *source.mutable_scale_io();
    if (scale.storage_mode().empty()) scale.set_storage_mode("ThinProvisioned");
    if (scale.fs_type().empty()) scale.set_fs_type("xfs");
  }
}

bool HasSource(const core::VolumeSource& source) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  source.GetReflection()->ListFields(source, &fields);
  return !fields.empty();
}

void DefaultVolume(Volume& volume) {
  auto& source = *volume.mutable_volume_source();
  if (!HasSource(source)) source.mutable_empty_dir();
  if (source.has_host_path() && !source.host_path().has_type())
    source.mutable_host_path()->set_type("");
  if (source.has_secret() && !source.secret().has_default_mode())
    source.mutable_secret()->set_default_mode(0644);
  if (source.has_config_map() && !source.config_map().has_default_mode())
    source.mutable_config_map()->set_default_mode(0644);
  if (source.has_downward_api()) {
    if (!source.downward_api().has_default_mode())
      source.mutable_downward_api()->set_default_mode(0644);
    DefaultDownwardItems(*source.mutable_downward_api()->mutable_items());
  }
  if (source.has_projected()) DefaultProjected(*source.mutable_projected());
  if (source.has_image() && source.image().pull_policy().empty())
    source.mutable_image()->set_pull_policy(
        std::string(DefaultPullPolicy(source.image().reference())));
  if (source.has_ephemeral() && source.ephemeral().has_volume_claim_template()) {
    auto& spec = *source.mutable_ephemeral()->mutable_volume_claim_template()->mutable_spec();
    if (!spec.has_volume_mode()) spec.set_volume_mode("Filesystem");
  }
  DefaultLegacyDisks(source);
}

/// Completes spec.resources, if a manifest sets a part of them.
Status DefaultPodLevel(Pod& pod) {
  if (!pod.spec().has_resources()) return OkStatus();
  auto& own = *pod.mutable_spec()->mutable_resources();
  RETURN_IF_ERROR(RoundUp(own), "spec.resources");
  if (own.limits_size() == 0 && own.requests_size() == 0) return OkStatus();
  Resources huge_pages;
  for (const Container& container : pod.spec().containers()) {
    ASSIGN_OR_RETURN(const auto limits, LimitsOf(container.resources()), "{}", container.name());
    for (const auto& [name, limit] : limits)
      if (IsHugePages(name)) huge_pages[name] += limit;
  }
  for (const auto& [name, limit] : huge_pages)
    if (!own.limits().contains(name) && !own.requests().contains(name))
      (*own.mutable_limits())[name].set_string(limit.ToString());
  ASSIGN_OR_RETURN(const auto requested, ContainersRequests(pod), "spec.containers");
  for (const auto& [name, limit] : own.limits()) {
    if (!IsPodLevelResource(name) || own.requests().contains(name)) continue;
    const auto sum = requested.find(name);
    const bool from_containers = sum != requested.end() && !IsHugePages(name);
    (*own.mutable_requests())[name].set_string(from_containers ? sum->second.ToString()
                                                               : limit.string());
  }
  return OkStatus();
}

void DefaultSpec(PodSpec& spec) {
  if (!spec.has_enable_service_links()) spec.set_enable_service_links(true);
  if (spec.dns_policy().empty()) spec.set_dns_policy("ClusterFirst");
  if (spec.restart_policy().empty()) spec.set_restart_policy("Always");
  spec.mutable_security_context();
  if (!spec.has_termination_grace_period_seconds()) spec.set_termination_grace_period_seconds(30);
  if (spec.scheduler_name().empty()) spec.set_scheduler_name("default-scheduler");
}

/// Changes made by the conversion to the internal type and back.
void FixUp(Pod& pod) {
  auto& spec = *pod.mutable_spec();
  if (spec.service_account_name().empty() && !spec.service_account().empty())
    spec.set_service_account_name(spec.service_account());
  if (!spec.service_account_name().empty()) spec.set_service_account(spec.service_account_name());
  if (spec.termination_grace_period_seconds() < 0) spec.set_termination_grace_period_seconds(1);
  if (pod.metadata().annotations_size() > 0) {
    for (const std::string level : {"alpha", "beta"})
      for (const std::string what : {"init-containers", "init-container-statuses"})
        pod.mutable_metadata()->mutable_annotations()->erase("pod." + level + ".kubernetes.io/" +
                                                             what);
  }
  auto& status = *pod.mutable_status();
  if (status.pod_ip().empty() && status.pod_ips_size() > 0)
    status.set_pod_ip(status.pod_ips(0).ip());
  if (!status.pod_ip().empty() &&
      (status.pod_ips_size() == 0 || status.pod_ips(0).ip() != status.pod_ip())) {
    status.clear_pod_ips();
    status.add_pod_ips()->set_ip(status.pod_ip());
  }
}

}  // namespace

std::string_view DefaultPullPolicy(std::string_view image) {
  const size_t digest = image.find('@');
  const std::string_view name = image.substr(0, digest);
  const size_t slash = name.rfind('/');
  const size_t colon = name.rfind(':');
  const bool tagged =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  const std::string_view tag = tagged ? name.substr(colon + 1) : std::string_view();
  // An invalid image reference is left to the runtime, which reports it.
  if (name.empty() || (tagged && tag.empty()) ||
      name.find_first_of(" \t") != std::string_view::npos)
    return "IfNotPresent";
  if (tag == "latest") return "Always";
  return !tagged && digest == std::string_view::npos ? "Always" : "IfNotPresent";
}

Status ApplyDefaults(Pod& pod) {
  auto& spec = *pod.mutable_spec();
  for (auto& container : *spec.mutable_containers()) {
    RETURN_IF_ERROR(DefaultContainer(container), "spec.containers");
    DefaultRunContainer(container, spec.host_network());
  }
  for (auto& container : *spec.mutable_init_containers()) {
    RETURN_IF_ERROR(DefaultContainer(container), "spec.initContainers");
    DefaultRunContainer(container, spec.host_network());
  }
  for (auto& container : *spec.mutable_ephemeral_containers())
    RETURN_IF_ERROR(DefaultContainer(*container.mutable_ephemeral_container_common()),
                    "spec.ephemeralContainers");
  for (auto& volume : *spec.mutable_volumes()) DefaultVolume(volume);
  RETURN_IF_ERROR(DefaultPodLevel(pod), "pod");
  RETURN_IF_ERROR(RoundUp(*spec.mutable_overhead()), "spec.overhead");
  DefaultSpec(spec);
  FixUp(pod);
  return OkStatus();
}

}  // namespace splitlet::kube
