#pragma once

/// What of this node goes into the configuration of sandboxes and containers. Fixed for the life of
/// the process.
/// Threads: values, functions any.
/// Errors:  as said.
/// Units:   as the names say.
/// Source:  docs/behaviour/runtime-config.md; docs/behaviour/resources.md.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/node/pod_place.h"
#include "libs/node/resources.h"

namespace splitlet::pod_worker {

struct Cgroups {
  bool v2 = false;
  bool oom_group = false;     // a container that runs out of memory is killed whole
  bool swap = false;          // the kernel can limit swap
  bool limited_swap = false;  // Burstable containers may take a part of it
};

/// Memory that is kept for pods, and above how much of it containers are slowed down.
struct MemoryQos {
  bool on = false;    // the feature gate, with version 2 of cgroups
  bool keep = false;  // requests are kept: memory.min and memory.low
  double throttling_factor = 0.9;
  int64_t page_bytes = 4096;
};

struct NodeInfo {
  std::string name;
  std::string annotation;    // value of splitlet.dev/node: "<state id>/<node name>"
  int64_t memory_bytes = 0;  // of the machine
  int64_t swap_bytes = 0;    // likewise
  struct Allocatable {       // what a missing limit means in the downward API
    int64_t cpu_millicores = 0, memory_bytes = 0, storage_bytes = 0;
  } allocatable;
  std::string cluster_domain;
  std::vector<std::string> cluster_dns;
  std::string resolver_config;      // path; empty: no file
  std::string pod_logs_dir;         // "/var/log/pods"
  std::string container_links_dir;  // "/var/log/containers"; empty: no links
  node::PodRoots pod_roots;
  std::string seccomp_dir;       // "<root>/seccomp"
  bool seccomp_default = false;  // without a profile: the runtime's, else none
  bool cpu_quota = true;         // CPU limits are enforced
  int64_t cpu_period_us = 100'000;
  Cgroups cgroups;
  MemoryQos memory_qos = {};
  bool selinux = false;  // the kernel enforces it, or would
  std::vector<node::HugePages> huge_pages;
  /// Directories under /sys that tell how hot the CPUs are: hidden from containers.
  std::vector<std::string> thermal_paths;
};

/// What a container may be told of addresses; of each list the first is the primary one.
struct PodAddresses {
  std::vector<std::string> pod = {};   // of the sandbox; empty on the host's network
  std::vector<std::string> host = {};  // of the node; empty: not known
};

/// From /sys and /proc; what cannot be read is not there.
Cgroups ReadCgroups(fs::FileSystem& files, bool single_process_oom_kill);
bool ReadSelinux(fs::FileSystem& files);
std::vector<std::string> ReadThermalPaths(fs::FileSystem& files);

/// In the units of the downward API.
NodeInfo::Allocatable AllocatableOf(const node::NodeResources& resources);

}  // namespace splitlet::pod_worker
