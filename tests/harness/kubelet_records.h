#pragma once

/// A kubelet's records in a runtime, written without splitlet's code, because they test what
/// splitlet must read.
/// Errors: a refusal by the runtime is returned.
/// Source: docs/behaviour/runtime-config.md; kuberuntime generatePodSandboxConfig.

#include <string>

#include "libs/cri/cri.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::harness {

/// FNV-1a of the text [container `app`, image `splitlet.local/busybox:1`], computed outside of this
/// tree by the kubelet's rule.
inline constexpr const char* kAppHash = "664ad425";
inline constexpr const char* kSideHash = "d98e5ac9";
inline constexpr const char* kPrepareHash = "6257db75";

/// A static pod from a manifest with a fixed UID, with one container `app` with the test's image.
struct KubeletPod {
  std::string name;  // name without the node
  std::string uid;
  std::string log_root;  // log folder of all pods
  std::string node = "node-1";
  bool large = false;  // true: also an init container `prepare` and a second container `side`

  std::string FullName() const { return name + "-" + node; }
  std::string LogDirectory() const { return log_root + "/default_" + FullName() + "_" + uid; }
};

struct KubeletRecords {
  cri::SandboxId sandbox;
  cri::ContainerId exited, running;  // attempts 1 and 2
  cri::ContainerId prepare, side;    // only for a large pod; both run
};

/// A ready sandbox, an exited container, and its running successor, which was restarted twice.
StatusOr<KubeletRecords> MakeKubeletRecords(RuntimeView& view, const KubeletPod& pod);

/// The manifest of that pod.
std::string ManifestOf(const KubeletPod& pod);

}  // namespace splitlet::harness
