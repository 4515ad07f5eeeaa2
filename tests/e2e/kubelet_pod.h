#pragma once

/// A static pod as a kubelet 1.36 leaves it on a node: records in the runtime, the directory below
/// its root, cgroup, logs. Written without code of a service, because it tests what splitlet must
/// read.
/// Errors: a refusal by the runtime or the kernel is returned.
/// Source: docs/takeover.md; docs/behaviour/runtime-config.md; kuberuntime
/// generatePodSandboxConfig.

#include <string>

#include "libs/cgroup/names.h"
#include "libs/cri/cri.h"
#include "tests/harness/runtime_view.h"

namespace splitlet::e2e {

/// A Burstable pod: an init container `prepare` that has succeeded, a container `app` with every
/// feature that was restarted twice, and a container `side`.
struct KubeletPod {
  std::string root;         // root directory of the kubelet
  std::string log_root;     // log folder of all pods
  std::string scratch;      // mounted at /scratch
  std::string cgroup_root;  // "/" or a cgroup of the test
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

/// Content of its volumes: `before` in the emptyDirs, WORD=old in the config map. The cgroup must
/// exist.
StatusOr<KubeletPodRecords> MakeKubeletPod(harness::RuntimeView& view, const KubeletPod& pod);

/// The manifest of that pod.
std::string ManifestOf(const KubeletPod& pod);

/// The annotations of this attempt of container `app`, whichever agent makes it.
cri::StringMap LabelsOfApp(const KubeletPod& pod);
cri::StringMap AnnotationsOfApp(int attempt);

}  // namespace splitlet::e2e
