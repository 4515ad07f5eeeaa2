#pragma once

/// The container configuration that goes to the runtime, field by field as a kubelet sends it.
/// Works with containerd from 1.6 on.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT with the text of the waiting message.
/// Source:  docs/behaviour/runtime-config.md.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/runtime_config/environment.h"
#include "services/pod-worker/runtime_config/isolation.h"

namespace runtime::v1 {
class ContainerConfig;
}

namespace splitlet::pod_worker {

/// Files that the sync has made for this attempt.
struct ContainerFiles {
  std::map<std::string, std::string> volumes;  // volume -> host path
  std::string hosts_file;                      // empty: none
  std::string termination_log;                 // empty: none
  EnvFiles env_files = {};
  /// Index in volumeMounts -> host path; for an image volume the path within the image.
  std::map<int, std::string> sub_paths = {};
  std::map<std::string, std::string> images = {};  // image volume -> the runtime's reference
};
struct ContainerInput {
  const kube::Pod& pod;
  const kube::Container& container;
  const NodeInfo& node;
  const ContainerFiles& files;
  PodAddresses ips;
  std::string image_ref;
  std::optional<cri::Image> image;  // set where NeedsImageUser is true
  uint32_t restart_count = 0;
  uint32_t attempt = 0;  // grows over all incarnations of the pod
  int64_t incarnation = 0;
  const ObjectSource* objects = nullptr;  // null: this node has none
  Isolation isolation = {};
};
Status MakeContainerConfig(const ContainerInput& input, runtime::v1::ContainerConfig& out);

}  // namespace splitlet::pod_worker
