#pragma once

/// Pods with volumes, and a persistent volume behind a claim, for tests.
/// Threads: values.
/// Errors:  of the test.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/defaults.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/volumes/volume_spec.h"

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

/// The persistent volume "disk" behind the pod's volume `claimed`. `spec`: its spec as YAML in flow
/// style: "nfs: {server: a}".
inline VolumeSpec BehindClaim(const std::string& spec, const kube::Volume& claimed) {
  const auto objects = ReadObjects(
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {" + spec + "}\n",
      "f.yaml");
  EXPECT_TRUE(objects.ok()) << objects.status();
  if (!objects.ok()) return {claimed};
  return {claimed, nullptr, objects->GetPersistentVolume("disk").value_or(nullptr)};
}

inline kube::Volume ClaimOf(bool read_only = false) {
  kube::Volume volume;
  volume.set_name("v");
  auto& claim = *volume.mutable_volume_source()->mutable_persistent_volume_claim();
  claim.set_claim_name("data");
  claim.set_read_only(read_only);
  return volume;
}

}  // namespace splitlet::pod_worker
