#pragma once

/// Names and paths of CSI volumes on a node, all as a kubelet has them, so that either agent finds
/// the volumes of the other.
/// Threads: pure functions, any.
/// Errors: CheckDriverName and CheckHandle return what is wrong, "" for a valid text.
/// Source: kubelet csi_util, csi_plugin and csi_block; docs/takeover.md.

#include <string>
#include <string_view>

namespace splitlet::csi {

inline constexpr std::string_view kPluginName = "kubernetes.io/csi";

/// A DNS subdomain of at most 63 characters, upper case allowed: the name is part of paths.
std::string CheckDriverName(std::string_view name);
/// Not empty, text, at most 4096 bytes.
std::string CheckHandle(std::string_view handle);

/// The handle of a volume that the pod's spec defines itself.
std::string EphemeralHandle(std::string_view pod_uid, std::string_view volume_name);
/// The name of the VolumeAttachment that a controller makes.
std::string AttachmentName(std::string_view handle, std::string_view driver,
                           std::string_view node_name);
/// As volumesInUse and volumesAttached of a Node's status have it.
std::string UniqueName(std::string_view driver, std::string_view handle);
/// A name as one step of a path: "~" for "/".
std::string EscapeName(std::string_view name);

/// Paths below the kubelet's root directory. "spec" is the name of the persistent volume, or the
/// pod's name for an inline volume.
class Paths {
 public:
  explicit Paths(std::string root_dir) : root_(std::move(root_dir)) {}

  /// Holds globalmount and vol_data.json.
  std::string StagingDir(std::string_view driver, std::string_view handle) const;
  /// The staging_target_path of a filesystem.
  std::string GlobalMount(std::string_view driver, std::string_view handle) const;
  /// Holds mount and vol_data.json.
  std::string PodVolumeDir(std::string_view pod_uid, std::string_view spec) const;
  /// The target_path of a filesystem.
  std::string PodMount(std::string_view pod_uid, std::string_view spec) const;

  /// Holds vol_data.json of a block volume.
  std::string BlockDataDir(std::string_view spec) const;
  std::string BlockStaging(std::string_view spec) const;
  /// The target_path of a block volume, a file that the driver makes.
  std::string BlockPublish(std::string_view spec, std::string_view pod_uid) const;
  /// Holds a bind mount of the device for each pod, named by the pod's UID.
  std::string BlockMapDir(std::string_view spec) const;
  /// The pod's symbolic link to the device.
  std::string PodDevice(std::string_view pod_uid, std::string_view spec) const;

 private:
  std::string Block(std::string_view rest) const;
  std::string root_;
};

inline constexpr std::string_view kDataFile = "vol_data.json";

}  // namespace splitlet::csi
