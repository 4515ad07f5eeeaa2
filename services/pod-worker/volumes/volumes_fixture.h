#pragma once

/// A pod with volumes as a manifest has them, for tests.
/// Threads: values.
/// Errors:  of the test.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/defaults.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// `volumes`: a list of YAML in flow style, as "[{name: v, emptyDir: {}}]"; each named one in
/// `mounted` is mounted at /<name> of container "app". `resources`: of that container.
inline kube::Pod PodWithVolumes(const std::string& volumes, const std::vector<std::string>& mounted,
                                const std::string& resources = "{}") {
  std::string mounts;
  for (const auto& name : mounted) mounts += "{name: " + name + ", mountPath: /" + name + "}, ";
  const auto decoded = kube::Decode(
      "apiVersion: v1\nkind: Pod\n"
      "metadata: {name: web, namespace: default, uid: uid-web, labels: {app: shop, tier: front}}\n"
      "spec:\n  containers: [{name: app, image: \"busybox:1.36\", volumeMounts: [" +
          mounts + "], resources: " + resources + "}]\n  volumes: " + volumes + "\n",
      "pod.yaml", kube::Strictness::kStrict);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  if (!decoded.ok()) return {};
  kube::Pod pod = *decoded->As<kube::Pod>();
  EXPECT_TRUE(kube::ApplyDefaults(pod).ok());
  return pod;
}

}  // namespace splitlet::pod_worker
