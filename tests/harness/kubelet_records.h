#pragma once

/// What a kubelet leaves in a runtime, by hand: what splitlet must read, not what it writes.
/// Errors: a refusal of the runtime is returned.
/// Source: docs/behaviour/runtime-config.md; kuberuntime generatePodSandboxConfig.

#include <string>

#include "libs/cri/cri.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::harness {

/// FNV-1a of the text [container `app`, image `splitlet.local/busybox:1`], worked out outside of
/// this tree from the rule of the source.
inline constexpr const char* kAppHash = "664ad425";
inline constexpr const char* kSideHash = "d98e5ac9";
inline constexpr const char* kPrepareHash = "6257db75";

/// A static pod of a manifest with a fixed UID, with one container app of the test's image.
struct KubeletPod {
  std::string name;  // without the node
  std::string uid;
  std::string log_root;  // of all pods
  std::string node = "node-1";
  bool large = false;  // also an init container prepare and a second container side

  std::string FullName() const { return name + "-" + node; }
  std::string LogDirectory() const { return log_root + "/default_" + FullName() + "_" + uid; }
};

struct KubeletRecords {
  cri::SandboxId sandbox;
  cri::ContainerId exited, running;  // attempts 1 and 2
  cri::ContainerId prepare, side;    // of a large pod; both run
};

/// One ready sandbox, a container that ended, and its successor, which runs and was restarted
/// twice.
StatusOr<KubeletRecords> MakeKubeletRecords(RuntimeView& view, const KubeletPod& pod);

/// The manifest of that pod.
std::string ManifestOf(const KubeletPod& pod);

}  // namespace splitlet::harness
