#pragma once

/// Which volumes of a pod can be measured, and how much they hold.
/// Threads: VolumesOf is pure; MeasureVolume blocks on disk and runtime, on a strand.
/// Errors:  those of disk and runtime.
/// Units:   bytes in whole blocks of the disk, inodes.
/// Source:  docs/behaviour/node-api.md, "Volumes"; kubelet volumeStatCalculator.

#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "services/gc/measure/tree_meter.h"

namespace splitlet::v1 {
class FsStats;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct VolumeToMeasure {
  std::string name;
  std::string folder;  // below the pod's directory; empty: the volume has a claim
  bool local = false;  // counts as ephemeral storage of the pod
  // For a claim: a running container, and the path at which it mounts the volume.
  std::string claim, container_id, container_path;
};
/// Volumes of the kinds that have stats. A volume with a claim is among them only while a running
/// container mounts it, because only the runtime knows its path.
std::vector<VolumeToMeasure> VolumesOf(const kube::Pod& pod, const v1::ObservedPod& seen);

struct VolumeSources {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Reader& reader;
  TreeMeter& meter;
};
/// Measures a directory of the pod file by file, and a claim by its whole file system.
StatusOr<v1::FsStats> MeasureVolume(const VolumeSources& from, const VolumeToMeasure& volume,
                                    const std::string& pod_dir);

/// Leaves out how much is used: a file system does not know how much of it one volume uses.
v1::FsStats StatsOf(const fs::DiskUsage& disk);

}  // namespace splitlet::gc
