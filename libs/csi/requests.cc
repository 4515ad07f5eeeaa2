#include "libs/csi/requests.h"

#include "csi/v1/csi.pb.h"
#include "libs/csi/access_mode.h"
#include "libs/kube/json_text.h"

namespace splitlet::csi {
namespace {

constexpr const char* kPodKey = "csi.storage.k8s.io/pod.";
constexpr const char* kAccountKey = "csi.storage.k8s.io/serviceAccount.name";
constexpr const char* kEphemeralKey = "csi.storage.k8s.io/ephemeral";

using WireMap = google::protobuf::Map<std::string, std::string>;

void Fill(WireMap& wire, const StringMap& map) {
  for (const auto& [key, value] : map) wire[key] = value;
}

void AddPodInfo(WireMap& context, const PodInfo& pod, Lifecycle lifecycle) {
  context[std::string(kPodKey) + "name"] = pod.name;
  context[std::string(kPodKey) + "namespace"] = pod.namespace_;
  context[std::string(kPodKey) + "uid"] = pod.uid;
  context[kAccountKey] = pod.service_account;
  context[kEphemeralKey] = lifecycle == Lifecycle::kEphemeral ? "true" : "false";
}

bool Stages(const Volume& volume, const NodeCapabilities& capabilities) {
  return volume.lifecycle == Lifecycle::kPersistent &&
         capabilities.Has(NodeCapability::kStageUnstageVolume);
}

}  // namespace

v1::VolumeCapability MakeVolumeCapability(const Volume& volume,
                                          const NodeCapabilities& capabilities,
                                          const MountOptions& options) {
  v1::VolumeCapability made;
  const AccessMode mode = AccessModeOf(volume.access_modes, capabilities);
  made.mutable_access_mode()->set_mode(
      static_cast<v1::VolumeCapability::AccessMode::Mode>(static_cast<int>(mode)));
  if (volume.block) {
    made.mutable_block();
    return made;
  }
  auto& mount = *made.mutable_mount();
  mount.set_fs_type(volume.fs_type);
  for (const auto& option : volume.mount_options) mount.add_mount_flags(option);
  if (!options.se_linux_label.empty())
    mount.add_mount_flags("context=\"" + options.se_linux_label + "\"");
  if (options.fs_group && capabilities.Has(NodeCapability::kVolumeMountGroup))
    mount.set_volume_mount_group(std::to_string(*options.fs_group));
  return made;
}

v1::NodeStageVolumeRequest MakeStageRequest(const StageInput& input) {
  v1::NodeStageVolumeRequest request;
  request.set_volume_id(input.volume.handle);
  Fill(*request.mutable_publish_context(), input.publish_context);
  request.set_staging_target_path(input.staging_path);
  *request.mutable_volume_capability() =
      MakeVolumeCapability(input.volume, input.capabilities, input.options);
  Fill(*request.mutable_secrets(), input.secrets);
  Fill(*request.mutable_volume_context(), input.volume.attributes);
  return request;
}

v1::NodeUnstageVolumeRequest MakeUnstageRequest(const std::string& handle,
                                                const std::string& staging_path) {
  v1::NodeUnstageVolumeRequest request;
  request.set_volume_id(handle);
  request.set_staging_target_path(staging_path);
  return request;
}

std::string TokensJson(const std::map<std::string, ServiceAccountToken>& tokens) {
  std::string out = "{";
  for (const auto& [audience, token] : tokens) {
    if (out.size() > 1) out += ',';
    kube::AppendJsonString(out, audience);
    out += ":{\"token\":";
    kube::AppendJsonString(out, token.token);
    out += ",\"expirationTimestamp\":";
    kube::AppendJsonString(out, FormatRfc3339(token.expires));
    out += '}';
  }
  return out + "}";
}

v1::NodePublishVolumeRequest MakePublishRequest(const PublishInput& input) {
  const Volume& volume = input.volume;
  v1::NodePublishVolumeRequest request;
  request.set_volume_id(volume.handle);
  if (volume.lifecycle == Lifecycle::kPersistent)
    Fill(*request.mutable_publish_context(), input.publish_context);
  if (Stages(volume, input.capabilities)) request.set_staging_target_path(input.staging_path);
  request.set_target_path(input.target_path);
  *request.mutable_volume_capability() =
      MakeVolumeCapability(volume, input.capabilities, input.options);
  request.set_readonly(input.read_only);
  Fill(*request.mutable_secrets(), input.secrets);
  Fill(*request.mutable_volume_context(), volume.attributes);
  if (input.pod) AddPodInfo(*request.mutable_volume_context(), *input.pod, volume.lifecycle);
  if (!input.tokens.empty() && !volume.block) {
    auto& place = input.token_place == TokenPlace::kSecrets ? *request.mutable_secrets()
                                                            : *request.mutable_volume_context();
    place[std::string(kTokensKey)] = input.tokens;
  }
  return request;
}

v1::NodeUnpublishVolumeRequest MakeUnpublishRequest(const std::string& handle,
                                                    const std::string& target_path) {
  v1::NodeUnpublishVolumeRequest request;
  request.set_volume_id(handle);
  request.set_target_path(target_path);
  return request;
}

v1::NodeExpandVolumeRequest MakeExpandRequest(const ExpandInput& input) {
  v1::NodeExpandVolumeRequest request;
  request.set_volume_id(input.volume.handle);
  request.set_volume_path(input.volume_path);
  request.mutable_capacity_range()->set_required_bytes(input.required_bytes);
  if (Stages(input.volume, input.capabilities)) request.set_staging_target_path(input.staging_path);
  *request.mutable_volume_capability() = MakeVolumeCapability(input.volume, input.capabilities, {});
  Fill(*request.mutable_secrets(), input.secrets);
  return request;
}

v1::NodeGetVolumeStatsRequest MakeStatsRequest(const std::string& handle,
                                               const std::string& volume_path) {
  v1::NodeGetVolumeStatsRequest request;
  request.set_volume_id(handle);
  request.set_volume_path(volume_path);
  return request;
}

}  // namespace splitlet::csi
