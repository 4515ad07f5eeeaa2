#pragma once

/// What of this node goes into the configuration of sandboxes and containers. Fixed for the life of
/// the process. Threads: values. Errors: none. Units: as the names say.

#include <cstdint>
#include <string>
#include <vector>

namespace splitlet::pod_worker {

struct NodeInfo {
  std::string name;
  std::string annotation;        // value of splitlet.dev/node: "<state id>/<node name>"
  std::vector<std::string> ips;  // first is the primary one
  int64_t cpu_millicores = 0;    // what a missing limit means in the downward API
  int64_t memory_bytes = 0;
  int64_t storage_bytes = 0;
  std::string cluster_domain;
  std::vector<std::string> cluster_dns;
  std::string resolver_config;      // path; empty: no file
  std::string pod_logs_dir;         // "/var/log/pods"
  std::string container_links_dir;  // "/var/log/containers"; empty: no links
  std::string pods_dir;             // "<state>/pods"
  std::string seccomp_dir;          // "<state>/seccomp"
};

}  // namespace splitlet::pod_worker
