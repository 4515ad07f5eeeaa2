#pragma once

/// Which name servers, search domains and options a pod gets.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT for a resolver file that cannot be understood.
/// Source:  docs/behaviour/runtime-config.md, "DNS".

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/runtime_config/node_info.h"

namespace splitlet::pod_worker {

struct Dns {
  std::vector<std::string> servers, searches, options;
  bool operator==(const Dns&) const = default;
};

/// What is read of a resolver file, in bytes.
inline constexpr uint64_t kMaxResolverFile = 10u << 20;

/// A resolv.conf(5).
StatusOr<Dns> ParseResolverFile(const std::string& text);

/// What `file`, read from `path`, holds beyond what every pod gets of it, in a kubelet's words;
/// empty: nothing. `cluster_domain`: pods have three searches of the cluster beside the file's.
std::string ResolverFileExcess(const std::string& path, const Dns& file, bool cluster_domain);

struct DnsWarning {
  std::string reason, message;
};
struct PodDns {
  Dns dns;
  std::vector<DnsWarning> warnings;  // events of the pod
};
/// `host`: the node's resolver file; what stands in for an empty setting when the node has none.
PodDns MakeDns(const kube::Pod& pod, const NodeInfo& node, const Dns& host);

}  // namespace splitlet::pod_worker
