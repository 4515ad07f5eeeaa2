#pragma once

/// Measures the usage of pods and their containers: cgroups, network, logs and volumes.
/// Threads: a strand; it blocks on files.
/// Errors:  none: stats that cannot be read are left out.
/// Source:  docs/behaviour/node-api.md, "Figures".

#include <map>
#include <string>
#include <vector>

#include "services/gc/measure/cgroup_usage.h"
#include "services/gc/measure/stats/volume_monitor.h"
#include "services/gc/measure/tree_meter.h"

namespace splitlet::v1 {
class ObservedPod;
class PodStats;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct PodToRead {
  std::string uid, name_space, name;
  std::string sandbox;                            // the ready sandbox; empty: no sandbox is ready
  std::map<std::string, std::string> containers;  // id -> name of the running containers
};
PodToRead PodOf(const v1::ObservedPod& seen);

struct PodSources {
  fs::FileSystem& files;
  TreeMeter& meter;
  const cgroup::Layout& layout;
  const CgroupTree& tree;
  std::string root_dir, pods_dir, pod_logs_dir;
};
v1::PodStats ReadPod(const PodSources& from, const PodToRead& pod,
                     const std::vector<MeasuredVolume>& volumes);

}  // namespace splitlet::gc
