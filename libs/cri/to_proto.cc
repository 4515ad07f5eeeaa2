#include "libs/cri/to_proto.h"

namespace splitlet::cri {
namespace {

template <class Map>
void Fill(const StringMap& from, Map* to) {
  for (const auto& [key, value] : from) (*to)[key] = value;
}

}  // namespace

runtime::v1::ContainerStatus ToProto(const Container& from) {
  runtime::v1::ContainerStatus to;
  to.set_id(from.id.str());
  to.mutable_metadata()->set_name(from.name);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_state(static_cast<runtime::v1::ContainerState>(from.state));
  to.set_created_at(from.created_at_ns);
  to.set_started_at(from.started_at_ns);
  to.set_finished_at(from.finished_at_ns);
  to.set_exit_code(from.exit_code);
  to.set_reason(from.reason);
  to.set_message(from.message);
  to.mutable_image()->set_image(from.image);
  to.set_image_ref(from.image_ref);
  to.set_image_id(from.image_id);
  to.set_log_path(from.log_path);
  Fill(from.labels, to.mutable_labels());
  Fill(from.annotations, to.mutable_annotations());
  for (const Mount& mount : from.mounts) {
    auto* made = to.add_mounts();
    made->set_container_path(mount.container_path);
    made->set_host_path(mount.host_path);
    made->set_readonly(mount.read_only);
  }
  if (from.user) {
    auto& user = *to.mutable_user()->mutable_linux();
    user.set_uid(from.user->uid);
    user.set_gid(from.user->gid);
    for (const int64_t group : from.user->supplemental_groups) user.add_supplemental_groups(group);
  }
  if (from.resources) {
    constexpr int64_t kPeriod = 100'000;
    auto& resources = *to.mutable_resources()->mutable_linux();
    resources.set_cpu_shares(from.resources->cpu_request_millis * 1024 / 1000);
    resources.set_cpu_quota(from.resources->cpu_limit_millis * kPeriod / 1000);
    resources.set_cpu_period(kPeriod);
    resources.set_memory_limit_in_bytes(from.resources->memory_limit_bytes);
  }
  return to;
}

runtime::v1::PodSandboxStatus ToProto(const Sandbox& from) {
  runtime::v1::PodSandboxStatus to;
  to.set_id(from.id.str());
  to.mutable_metadata()->set_name(from.pod_name);
  to.mutable_metadata()->set_namespace_(from.pod_namespace);
  to.mutable_metadata()->set_uid(from.pod_uid);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.set_state(from.state == SandboxState::kReady ? runtime::v1::SANDBOX_READY
                                                  : runtime::v1::SANDBOX_NOTREADY);
  to.set_created_at(from.created_at_ns);
  to.set_runtime_handler(from.runtime_handler);
  Fill(from.labels, to.mutable_labels());
  Fill(from.annotations, to.mutable_annotations());
  if (!from.ips.empty()) to.mutable_network()->set_ip(from.ips.front());
  for (size_t i = 1; i < from.ips.size(); ++i)
    to.mutable_network()->add_additional_ips()->set_ip(from.ips[i]);
  if (from.host_network) {
    to.mutable_linux()->mutable_namespaces()->mutable_options()->set_network(runtime::v1::NODE);
  }
  return to;
}

runtime::v1::Image ToProto(const Image& from) {
  runtime::v1::Image to;
  to.set_id(from.id);
  for (const auto& tag : from.tags) to.add_repo_tags(tag);
  for (const auto& digest : from.digests) to.add_repo_digests(digest);
  to.set_size(from.size_bytes);
  to.set_pinned(from.pinned);
  if (from.uid) to.mutable_uid()->set_value(*from.uid);
  to.set_username(from.username);
  return to;
}

}  // namespace splitlet::cri
