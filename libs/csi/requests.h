#pragma once

/// The requests that a driver is sent, each field as a kubelet fills it. Differences: a driver
/// without STAGE_UNSTAGE_VOLUME never gets a staging path.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet csi_attacher, csi_mounter, csi_block and expander; CSI, NodeStageVolume,
/// NodePublishVolume and NodeExpandVolume.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/csi/capabilities.h"
#include "libs/csi/string_map.h"
#include "libs/csi/volume.h"

namespace csi::v1 {
class NodeExpandVolumeRequest;
class NodeGetVolumeStatsRequest;
class NodePublishVolumeRequest;
class NodeStageVolumeRequest;
class NodeUnpublishVolumeRequest;
class NodeUnstageVolumeRequest;
class VolumeCapability;
}  // namespace csi::v1

namespace splitlet::csi {

/// The key of the volume context, or of the secrets, that has tokens of the service account.
inline constexpr std::string_view kTokensKey = "csi.storage.k8s.io/serviceAccount.tokens";

/// Which mount the driver is to make, beside the volume itself.
struct MountOptions {
  std::optional<int64_t> fs_group;  // of the pod; sent to a driver with VOLUME_MOUNT_GROUP
  std::string se_linux_label;       // "user:role:type:level"; empty: no context option
};
v1::VolumeCapability MakeVolumeCapability(const Volume& volume,
                                          const NodeCapabilities& capabilities,
                                          const MountOptions& options);

struct StageInput {
  const Volume& volume;
  const NodeCapabilities& capabilities;
  std::string staging_path;
  StringMap publish_context = {};  // of the VolumeAttachment
  StringMap secrets = {};
  MountOptions options = {};
};
v1::NodeStageVolumeRequest MakeStageRequest(const StageInput& input);
v1::NodeUnstageVolumeRequest MakeUnstageRequest(const std::string& handle,
                                                const std::string& staging_path);

struct PodInfo {
  std::string name, namespace_, uid, service_account;
};
struct ServiceAccountToken {
  std::string token;
  WallTime expires;
};
/// Tokens by audience as JSON, the value of kTokensKey.
std::string TokensJson(const std::map<std::string, ServiceAccountToken>& tokens);

/// Which map of a NodePublishVolumeRequest has the tokens.
enum class TokenPlace { kVolumeContext, kSecrets };

struct PublishInput {
  const Volume& volume;
  const NodeCapabilities& capabilities;
  std::string staging_path;  // sent for a persistent volume of a driver that stages
  std::string target_path;
  bool read_only = false;  // of the pod's reference to the claim, or of the inline source
  StringMap publish_context = {};
  StringMap secrets = {};
  std::optional<PodInfo> pod = std::nullopt;  // set: the driver wants information about the pod
  std::string tokens = {};                    // TokensJson; block volumes are sent none
  TokenPlace token_place = TokenPlace::kVolumeContext;
  MountOptions options = {};
};
v1::NodePublishVolumeRequest MakePublishRequest(const PublishInput& input);
v1::NodeUnpublishVolumeRequest MakeUnpublishRequest(const std::string& handle,
                                                    const std::string& target_path);

struct ExpandInput {
  const Volume& volume;
  const NodeCapabilities& capabilities;
  std::string volume_path;  // the pod's mount, or the device
  std::string staging_path;
  int64_t required_bytes = 0;
  StringMap secrets = {};
};
v1::NodeExpandVolumeRequest MakeExpandRequest(const ExpandInput& input);

v1::NodeGetVolumeStatsRequest MakeStatsRequest(const std::string& handle,
                                               const std::string& volume_path);

}  // namespace splitlet::csi
