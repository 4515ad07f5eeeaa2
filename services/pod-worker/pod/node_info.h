#pragma once

/// The properties of this node that the configuration of sandboxes and containers needs. They do
/// not change while the process runs.
/// Threads: values, functions any.
/// Errors:  none.
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
  bool oom_group = false;     // an OOM kills all processes of a container
  bool swap = false;          // the kernel can limit swap
  bool limited_swap = false;  // Burstable containers may use a part of the swap
};

/// Protection of requested memory, and throttling of containers near their limit.
struct MemoryQos {
  bool on = false;    // the feature gate is on, and cgroups are of version 2
  bool keep = false;  // protect requests by memory.min and memory.low
  double throttling_factor = 0.9;
  int64_t page_bytes = 4096;
};

struct NodeInfo {
  std::string name;
  std::string annotation;    // value of splitlet.dev/node: "<state id>/<node name>"
  int64_t memory_bytes = 0;  // of the machine
  int64_t swap_bytes = 0;    // of the machine
  struct Allocatable {       // the downward API's values for missing limits
    int64_t cpu_millicores = 0, memory_bytes = 0, storage_bytes = 0;
  } allocatable;
  std::string cluster_domain;
  std::vector<std::string> cluster_dns;
  std::string resolver_config;      // path; empty: no file
  std::string pod_logs_dir;         // "/var/log/pods"
  std::string container_links_dir;  // "/var/log/containers"; empty: no links
  node::PodRoots pod_roots;
  std::string seccomp_dir;       // "<root>/seccomp"
  bool seccomp_default = false;  // pods without a profile get the runtime's
  bool cpu_quota = true;         // CPU limits are enforced
  int64_t cpu_period_us = 100'000;
  Cgroups cgroups;
  MemoryQos memory_qos = {};
  bool selinux = false;  // the kernel has SELinux, enforcing or permissive
  std::vector<node::HugePages> huge_pages;
  /// Directories under /sys with the temperatures of CPUs, hidden from containers.
  std::vector<std::string> thermal_paths;
};

/// The addresses for a container's environment. The first of each list is the primary one.
struct PodAddresses {
  std::vector<std::string> pod = {};   // of the sandbox; empty on the host's network
  std::vector<std::string> host = {};  // of the node; empty: not known
};

/// From /sys and /proc. A file that cannot be read counts as missing.
Cgroups ReadCgroups(fs::FileSystem& files, bool single_process_oom_kill);
bool ReadSelinux(fs::FileSystem& files);
std::vector<std::string> ReadThermalPaths(fs::FileSystem& files);

/// In the units of the downward API.
NodeInfo::Allocatable AllocatableOf(const node::NodeResources& resources);

}  // namespace splitlet::pod_worker
