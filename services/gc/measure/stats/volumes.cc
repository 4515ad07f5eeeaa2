#include "services/gc/measure/stats/volumes.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/node/pod_place.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

using Source = k8s::io::api::core::v1::VolumeSource;

constexpr Duration kVolumeCallLimit = std::chrono::seconds{10};

std::string FolderOf(const Source& source) {
  if (source.has_empty_dir()) return "kubernetes.io~empty-dir";
  if (source.has_secret()) return "kubernetes.io~secret";
  if (source.has_config_map()) return "kubernetes.io~configmap";
  if (source.has_downward_api()) return "kubernetes.io~downward-api";
  if (source.has_projected()) return "kubernetes.io~projected";
  return "";
}

std::string ClaimOf(const kube::Volume& volume, const kube::Pod& pod) {
  const auto& source = volume.volume_source();
  if (source.has_ephemeral()) return pod.metadata().name() + "-" + volume.name();
  return source.persistent_volume_claim().claim_name();
}

bool IsLocal(const Source& source) {
  return (source.has_empty_dir() && source.empty_dir().medium().empty()) || source.has_config_map();
}

std::string RunningId(const v1::ObservedPod& seen, const std::string& name) {
  for (const auto& container : seen.containers())
    if (container.name() == name && container.state() == v1::ContainerRecord::RUNNING)
      return container.id();
  return "";
}

/// Finds the first running container that mounts the volume.
void FindMount(const kube::Pod& pod, const v1::ObservedPod& seen, VolumeToMeasure& volume) {
  const auto search = [&](const auto& containers) {
    for (const auto& container : containers) {
      const std::string id = RunningId(seen, container.name());
      if (id.empty() || !volume.container_id.empty()) continue;
      for (const auto& mount : container.volume_mounts()) {
        if (mount.name() != volume.name) continue;
        volume.container_id = id;
        volume.container_path = mount.mount_path();
      }
    }
  };
  search(pod.spec().containers());
  search(pod.spec().init_containers());
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

StatusOr<std::string> HostPathOf(const VolumeSources& from, const VolumeToMeasure& volume) {
  ASSIGN_OR_RETURN(const auto container,
                   from.reader.ContainerStatus(cri::ContainerId(volume.container_id),
                                               After(from.clock, kVolumeCallLimit)),
                   "status of {}", volume.container_id);
  for (const auto& mount : container.mounts)
    if (WithoutSlash(mount.container_path) == WithoutSlash(volume.container_path))
      return mount.host_path;
  return NotFound("{} has no mount at {}", volume.container_id, volume.container_path);
}

}  // namespace

v1::FsStats StatsOf(const fs::DiskUsage& disk) {
  v1::FsStats stats;
  stats.set_capacity_bytes(disk.capacity_bytes);
  stats.set_available_bytes(disk.available_bytes);
  stats.set_inodes(disk.inodes);
  stats.set_inodes_free(disk.inodes_free);
  return stats;
}

std::vector<VolumeToMeasure> VolumesOf(const kube::Pod& pod, const v1::ObservedPod& seen) {
  std::vector<VolumeToMeasure> volumes;
  for (const auto& volume : pod.spec().volumes()) {
    VolumeToMeasure found{.name = volume.name()};
    found.claim = ClaimOf(volume, pod);
    if (found.claim.empty()) {
      const std::string folder = FolderOf(volume.volume_source());
      if (folder.empty()) continue;
      found.folder = "volumes/" + folder + "/" + volume.name();
      found.local = IsLocal(volume.volume_source());
    } else {
      FindMount(pod, seen, found);
      if (found.container_id.empty()) continue;
    }
    volumes.push_back(std::move(found));
  }
  return volumes;
}

StatusOr<v1::FsStats> MeasureVolume(const VolumeSources& from, const VolumeToMeasure& volume,
                                    const std::string& pod_dir) {
  if (volume.folder.empty()) {
    ASSIGN_OR_RETURN(const std::string path, HostPathOf(from, volume), "place");
    ASSIGN_OR_RETURN(const auto disk, from.files.Usage(path), "{}", path);
    return StatsOf(disk);
  }
  const std::string path = pod_dir + "/" + volume.folder;
  RETURN_IF_ERROR(from.files.Stat(path, false), "{}", path);
  ASSIGN_OR_RETURN(const auto disk, from.files.Usage(path), "{}", path);
  ASSIGN_OR_RETURN(const DiskStats used, from.meter.Measure(path), "{}", path);
  if (used.more) return ResourceExhausted("{}: too many files to count", path);
  v1::FsStats stats = StatsOf(disk);
  stats.set_used_bytes(static_cast<uint64_t>(used.bytes));
  stats.set_inodes_used(static_cast<uint64_t>(used.inodes));
  return stats;
}

}  // namespace splitlet::gc
