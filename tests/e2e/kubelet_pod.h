#pragma once

/// A static pod as a kubelet 1.36 leaves it on a node with all that belongs to it: records in the
/// runtime, the directory below its root, cgroup, logs. By hand: what splitlet must read, not what
/// it writes, so never by code of a service.
/// Errors: a refusal of the runtime or of the kernel is returned.
/// Source: docs/takeover.md; docs/behaviour/runtime-config.md; kuberuntime
/// generatePodSandboxConfig.

#include <string>

#include "libs/cgroup/names.h"
#include "libs/cri/cri.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::e2e {

/// Burstable; an init container prepare that has succeeded; containers app, which was restarted
/// twice, with every kind of thing, and side.
struct KubeletPod {
  std::string root;         // the kubelet's
  std::string log_root;     // of all pods
  std::string scratch;      // mounted at /scratch
  std::string cgroup_root;  // "/" or one of the test
  std::string uid = "0f9e8d7c-6b5a-4433-2211-00ffeeddccbb";

  std::string Directory() const { return root + "/pods/" + uid; }
  std::string Volume(const std::string& kind, const std::string& name) const {
    return Directory() + "/volumes/kubernetes.io~" + kind + "/" + name;
  }
  std::string LogOf(const std::string& container, int attempt) const;
  std::string CgroupPath() const { return cgroup_root + "/kubepods/burstable/pod" + uid; }
};

struct KubeletPodRecords {
  cri::SandboxId sandbox;
  cri::ContainerId prepare, exited, app, side;
};

/// What stands in its volumes: `before` in the emptyDirs, WORD=old in the config map.
/// The cgroup has to be there.
StatusOr<KubeletPodRecords> MakeKubeletPod(harness::RuntimeView& view, const KubeletPod& pod);

/// The manifest of that pod.
std::string ManifestOf(const KubeletPod& pod);

/// What stands on a container app of this attempt, whoever makes it.
cri::StringMap LabelsOfApp(const KubeletPod& pod);
cri::StringMap AnnotationsOfApp(int attempt);

}  // namespace splitlet::e2e
