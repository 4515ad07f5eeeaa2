#pragma once

/// The name servers, search domains and options of a pod.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT: the resolver file cannot be parsed.
/// Source:  docs/behaviour/runtime-config.md, "DNS".

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/node_info.h"

namespace splitlet::pod_worker {

struct Dns {
  std::vector<std::string> servers, searches, options;
  bool operator==(const Dns&) const = default;
};

/// The most bytes of a resolver file.
inline constexpr uint64_t kMaxResolverFile = 10u << 20;

/// A resolv.conf(5).
StatusOr<Dns> ParseResolverFile(const std::string& text);

/// A kubelet's warning that pods do not get all of `file`, which was read from `path`; empty: they
/// get all. `cluster_domain`: pods have three search domains of the cluster before the file's.
std::string ResolverFileExcess(const std::string& path, const Dns& file, bool cluster_domain);

struct DnsWarning {
  std::string reason, message;
};
struct PodDns {
  Dns dns;
  std::vector<DnsWarning> warnings;  // events of the pod
};
/// `host`: the node's resolver file; empty where the node has none.
PodDns MakeDns(const kube::Pod& pod, const NodeInfo& node, const Dns& host);

}  // namespace splitlet::pod_worker
