#include "libs/cri/convert.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <utility>

namespace splitlet::cri {
namespace {

template <class Map>
StringMap ToStringMap(const Map& map) {
  return StringMap(map.begin(), map.end());
}

SandboxState FromProto(runtime::v1::PodSandboxState state) {
  return state == runtime::v1::SANDBOX_READY ? SandboxState::kReady : SandboxState::kNotReady;
}

ContainerState FromProto(runtime::v1::ContainerState state) {
  if (state == runtime::v1::CONTAINER_CREATED) return ContainerState::kCreated;
  if (state == runtime::v1::CONTAINER_RUNNING) return ContainerState::kRunning;
  if (state == runtime::v1::CONTAINER_EXITED) return ContainerState::kExited;
  return ContainerState::kUnknown;
}

// The fields that a listing and a status share.
template <class Message>
Sandbox CommonSandbox(const Message& from) {
  Sandbox to;
  to.id = SandboxId(from.id());
  to.pod_name = from.metadata().name();
  to.pod_namespace = from.metadata().namespace_();
  to.pod_uid = from.metadata().uid();
  to.attempt = from.metadata().attempt();
  to.state = FromProto(from.state());
  to.created_at_ns = from.created_at();
  to.labels = ToStringMap(from.labels());
  to.annotations = ToStringMap(from.annotations());
  to.runtime_handler = from.runtime_handler();
  return to;
}

template <class Message>
Container CommonContainer(const Message& from) {
  Container to;
  to.id = ContainerId(from.id());
  to.name = from.metadata().name();
  to.attempt = from.metadata().attempt();
  to.state = FromProto(from.state());
  to.created_at_ns = from.created_at();
  to.labels = ToStringMap(from.labels());
  to.annotations = ToStringMap(from.annotations());
  to.image = from.image().image();
  to.image_ref = from.image_ref();
  to.image_id = from.image_id();
  return to;
}

}  // namespace

std::vector<Sandbox> FromProto(const runtime::v1::ListPodSandboxResponse& response) {
  std::vector<Sandbox> listed;
  for (const auto& item : response.items()) {
    if (item.has_metadata()) listed.push_back(CommonSandbox(item));
  }
  std::sort(listed.begin(), listed.end(), IsNewer<Sandbox>);
  return listed;
}

std::vector<Container> FromProto(const runtime::v1::ListContainersResponse& response) {
  std::vector<Container> listed;
  for (const auto& item : response.containers()) {
    if (!item.has_metadata() || item.id().empty() || !item.has_image()) continue;
    listed.push_back(CommonContainer(item));
    listed.back().sandbox_id = SandboxId(item.pod_sandbox_id());
  }
  std::sort(listed.begin(), listed.end(), IsNewer<Container>);
  return listed;
}

StatusOr<Sandbox> FromProto(const runtime::v1::PodSandboxStatusResponse& response) {
  if (!response.has_status()) return Internal("the runtime answered without a sandbox status");
  const auto& from = response.status();
  const auto& metadata = from.metadata();
  if (from.id().empty() || metadata.name().empty() || metadata.namespace_().empty() ||
      metadata.uid().empty() || from.created_at() == 0) {
    return Internal("the status of sandbox {} is incomplete", from.id());
  }
  Sandbox to = CommonSandbox(from);
  if (!from.network().ip().empty()) {
    to.ips.push_back(from.network().ip());
    for (const auto& ip : from.network().additional_ips()) to.ips.push_back(ip.ip());
  }
  to.host_network = from.linux().namespaces().options().network() == runtime::v1::NODE;
  return to;
}

StatusOr<Container> FromProto(const runtime::v1::ContainerStatusResponse& response) {
  if (!response.has_status()) return Internal("the runtime answered without a container status");
  const auto& from = response.status();
  if (from.id().empty() || from.metadata().name().empty() || from.created_at() == 0 ||
      from.image().image().empty() || from.image_ref().empty()) {
    return Internal("the status of container {} is incomplete", from.id());
  }
  Container to = CommonContainer(from);
  to.started_at_ns = from.started_at();
  to.finished_at_ns = from.finished_at();
  to.exit_code = from.exit_code();
  to.reason = from.reason();
  to.message = from.message();
  to.log_path = from.log_path();
  for (const auto& mount : from.mounts()) {
    to.mounts.push_back({mount.container_path(), mount.host_path(), mount.readonly()});
  }
  if (from.user().has_linux()) to.user = FromProto(from.user().linux());
  if (from.resources().has_linux()) to.resources = FromProto(from.resources().linux());
  return to;
}

ContainerResources FromProto(const runtime::v1::LinuxContainerResources& resources) {
  constexpr int64_t kMillis = 1000, kSharesOfACpu = 1024, kLeastShares = 2;
  // More than any machine has; keeps the products from overflowing.
  constexpr int64_t kMost = int64_t{1} << 50;
  ContainerResources to;
  const int64_t shares = std::min(resources.cpu_shares(), kMost);
  if (shares >= kLeastShares)
    to.cpu_request_millis = (shares * kMillis + kSharesOfACpu - 1) / kSharesOfACpu;
  const int64_t quota = std::min(resources.cpu_quota(), kMost);
  if (resources.cpu_period() > 0 && quota > 0)
    to.cpu_limit_millis = quota * kMillis / resources.cpu_period();
  to.memory_limit_bytes = std::max<int64_t>(resources.memory_limit_in_bytes(), 0);
  return to;
}

ContainerUser FromProto(const runtime::v1::LinuxContainerUser& user) {
  const auto& groups = user.supplemental_groups();
  return {user.uid(), user.gid(), {groups.begin(), groups.end()}};
}

Image FromProto(const runtime::v1::Image& image) {
  Image to;
  to.id = image.id();
  to.tags.assign(image.repo_tags().begin(), image.repo_tags().end());
  to.digests.assign(image.repo_digests().begin(), image.repo_digests().end());
  to.size_bytes = image.size();
  to.pinned = image.pinned();
  if (image.has_uid()) to.uid = image.uid().value();
  to.username = image.username();
  return to;
}

ContainerStats FromProto(const runtime::v1::ContainerStats& stats) {
  ContainerStats to;
  to.id = ContainerId(stats.attributes().id());
  to.cpu_usage_ns = stats.cpu().usage_core_nano_seconds().value();
  to.memory_working_set_bytes = stats.memory().working_set_bytes().value();
  to.writable_layer_bytes = stats.writable_layer().used_bytes().value();
  if (stats.writable_layer().has_inodes_used())
    to.writable_layer_inodes = stats.writable_layer().inodes_used().value();
  return to;
}

ImageFsReport FromProto(const runtime::v1::ImageFsInfoResponse& response) {
  const auto listed = [](const auto& file_systems) {
    std::vector<FsUsage> to;
    for (const auto& fs : file_systems)
      to.push_back({fs.fs_id().mountpoint(), fs.used_bytes().value(), fs.inodes_used().value()});
    return to;
  };
  return {.images = listed(response.image_filesystems()),
          .containers = listed(response.container_filesystems())};
}

std::string SandboxImageIn(const std::string& config) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(config.data(), config.size());
  if (document.HasParseError() || !document.IsObject()) return "";
  const rapidjson::Value& object = document;
  const auto image = object.FindMember("sandboxImage");
  if (image == object.MemberEnd() || !image->value.IsString()) return "";
  return {image->value.GetString(), image->value.GetStringLength()};
}

}  // namespace splitlet::cri
