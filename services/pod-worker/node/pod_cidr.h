#pragma once

/// The range of addresses of this node's pods. The runtime gets it, and may make the configuration
/// of their network of it.
/// In:      podCIDR of the configuration; this node as the API server has it; every 10 s, a check
///          whether the runtime still has to get it.
/// Owns:    the range that the runtime got last.
/// Out:     UpdateRuntimeConfig, one call at a time.
/// Killed:  the next start sends it again, which changes nothing.
/// Threads: the loop's; calls on the strand "pod-cidr".
/// Errors:  logged when they change, and the call is made again after 10 s.
/// Source:  docs/behaviour/node.md, "Addresses of pods"; kubelet updatePodCIDR.

#include <memory>
#include <string>

#include "libs/apiclient/reflector.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/cri/network_config.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/api_objects/api_calls.h"

namespace splitlet::pod_worker {

/// As the controllers of a cluster gave it to the node, those of two families joined by a comma;
/// empty: they gave none.
std::string PodCidrOf(const kube::Node& node);

class PodCidr {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;  // of calls to the runtime
    cri::NetworkConfig& runtime;
    Log log;
    std::shared_ptr<CancelToken> ending;  // of the process: gives up the call under way
    const ApiContext* api = nullptr;      // null: this node has no API server
  };
  struct Settings {
    std::string node_name;
    std::string configured;                         // podCIDR; empty: none
    Duration call_limit = std::chrono::minutes{2};  // runtimeRequestTimeout
  };
  /// All that `deps` refers to outlives this.
  PodCidr(Deps deps, Settings settings);
  PodCidr(const PodCidr&) = delete;
  PodCidr& operator=(const PodCidr&) = delete;

  void Start();
  /// A Node without a range changes nothing.
  void OnNode(const kube::Node& node);

 private:
  void StartWatch();
  void Want(std::string cidr);
  void OnTick();
  void OnSent(const std::string& cidr, const Status& status);

  const Deps deps_;
  const Settings settings_;
  std::string wanted_, sent_;
  std::string problem_;  // that was logged
  bool busy_ = false;
  std::unique_ptr<exec::Periodic> tick_;         // null: nothing is to be sent yet
  std::unique_ptr<apiclient::Reflector> watch_;  // null: no API server
  const exec::Asker asker_;                      // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
