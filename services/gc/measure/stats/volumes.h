#pragma once

/// Which volumes of a pod can be measured, and how much they hold.
/// Threads: VolumesOf is pure; MeasureVolume blocks on disk and runtime, on a strand.
/// Errors:  those of disk and runtime.
/// Units:   bytes as the disk gives them away, inodes.
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
  std::string folder;  // below the pod's directory; empty: one with a claim, measured where it is
  bool local = false;  // counts as ephemeral storage of the pod
  // With a claim: a container that runs, and where it has mounted the volume.
  std::string claim, container_id, container_path;
};
/// Those of kinds that have figures. One with a claim only while a container that runs mounts it:
/// only the runtime knows then where it is.
std::vector<VolumeToMeasure> VolumesOf(const kube::Pod& pod, const v1::ObservedPod& seen);

struct VolumeSources {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Reader& reader;
  TreeMeter& meter;
};
/// What is in a folder of its own is added up file by file; of a claim it is all that its file
/// system holds.
StatusOr<v1::FsStats> MeasureVolume(const VolumeSources& from, const VolumeToMeasure& volume,
                                    const std::string& pod_dir);

/// Without what is used: how much of a file system is one volume's, it does not say.
v1::FsStats StatsOf(const fs::DiskUsage& disk);

}  // namespace splitlet::gc
