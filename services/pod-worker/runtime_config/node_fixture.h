#pragma once

/// The node of tests of sandbox and container configuration.
/// Threads: a value.
/// Errors:  none.

#include <string>
#include <utility>
#include <vector>

#include "services/pod-worker/pod/node_info.h"

namespace splitlet::pod_worker {

inline const NodeInfo kNode{.name = "node-1",
                            .annotation = "state-1/node-1",
                            .memory_bytes = 10LL << 30,
                            .allocatable = {4000, 10LL << 30, 100},
                            .cluster_domain = "cluster.local",
                            .cluster_dns = {"10.0.0.10"},
                            .resolver_config = "/etc/resolv.conf",
                            .pod_logs_dir = "/var/log/pods",
                            .container_links_dir = "/var/log/containers",
                            .pod_roots = {"/state/pods", "/kubelet"},
                            .seccomp_dir = "/kubelet/seccomp"};

/// The addresses of a pod on that node.
inline PodAddresses AddressesOf(std::vector<std::string> pod_ips) {
  return {std::move(pod_ips), {"192.0.2.1"}};
}

}  // namespace splitlet::pod_worker
