#include "services/pod-worker/volumes/claim.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(VolumeOfClaim, OnlyOneThatIsBound) {
  const std::string claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data",
                    volume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n",
                    bound = claim + "}\nspec: {volumeName: disk}\nstatus: {phase: Bound}\n",
                    begin = "error processing PVC default/data: ";
  const struct {
    std::string objects, want;
  } kCases[] = {
      {"", begin + "failed to fetch PVC from API server: persistentvolumeclaim \"data\" not found"},
      {claim + "}\nspec: {volumeName: disk}\n", begin + "PVC is not bound"},
      {claim + "}\nstatus: {phase: Bound}\n", begin + "PVC has empty pvc.Spec.VolumeName"},
      {claim + ", deletionTimestamp: '2024-01-01T00:00:00Z'}\nspec: {volumeName: disk}\n",
       begin + "PVC is being deleted"},
      {claim + ", deletionTimestamp: '2024-01-01T00:00:00Z', finalizers: "
               "[kubernetes.io/pvc-protection]}\nspec: {volumeName: disk}\n",
       begin + "PVC is not bound"},
      {bound,
       begin + "failed to fetch PV disk from API server: persistentvolume \"disk\" not found"},
      {bound + "---\n" + volume,
       begin + "found PV object disk but it has a nil pv.Spec.ClaimRef indicating it is not yet "
               "bound to the claim"},
      {bound + "---\n" + volume + "spec: {claimRef: {name: data, uid: other}}\n",
       begin + "found PV object disk but its pv.Spec.ClaimRef.UID other does not point to "
               "claim.UID "},
      {bound + "---\n" + volume + "spec: {claimRef: {name: data}, volumeMode: Block}\n",
       begin + "volume v has volumeMode Block, but is specified in volumeMounts"},
      {bound + "---\n" + volume + "spec: {claimRef: {name: data}}\n", "disk"},
  };
  const auto pod = PodWithVolumes("[{name: v, persistentVolumeClaim: {claimName: data}}]", {"v"});
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.objects);
    const auto objects = ReadObjects(c.objects, "f.yaml");
    ASSERT_TRUE(objects.ok()) << objects.status();
    const auto found = VolumeOfClaim(pod.spec().volumes(0), pod, *objects);
    EXPECT_EQ(found.ok() ? found->volume->metadata().name() : std::string(Message(found.status())),
              c.want);
  }
}

TEST(CheckNodeAffinity, ItsNodesAreThoseThatTheirSchedulerChose) {
  const std::string here = "{key: kubernetes.io/hostname, operator: In, values: [node-1]}",
                    other = "{key: kubernetes.io/hostname, operator: In, values: [node-2]}",
                    zone = "{key: topology.kubernetes.io/zone, operator: In, values: [a]}",
                    without = "{key: example.com/old, operator: DoesNotExist}";
  const struct {
    std::string terms;
    bool may;
  } kCases[] = {
      {"[{matchExpressions: [" + here + "]}]", true},
      {"[{matchExpressions: [" + other + "]}]", false},
      {"[{matchExpressions: [" + zone + "]}]", true},
      {"[{matchExpressions: [" + zone + ", " + without + "]}]", true},
      {"[{matchExpressions: [" + zone + ", " + other + "]}]", false},
      {"[{matchExpressions: [" + other + ", " + zone + ", " + here + "]}]", false},
      {"[{matchExpressions: [" + other + "]}, {matchExpressions: [" + zone + "]}]", true},
      {"[{matchExpressions: [" + zone +
           "], matchFields: [{key: metadata.name, operator: In, "
           "values: [node-2]}]}]",
       false},
      {"[{matchExpressions: [" + zone +
           "], matchFields: [{key: metadata.name, operator: In, "
           "values: [node-1]}]}]",
       true},
      {"[{}]", false},
      {"[{matchExpressions: [{key: kubernetes.io/os, operator: NotIn, values: [linux]}]}]", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.terms);
    const auto objects = ReadObjects(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {nfs: {server: a, "
        "path: /b}, nodeAffinity: {required: {nodeSelectorTerms: " +
            c.terms + "}}}\n",
        "f.yaml");
    ASSERT_TRUE(objects.ok()) << objects.status();
    EXPECT_EQ(CheckNodeAffinity(**objects->GetPersistentVolume("disk"), "node-1").ok(), c.may);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
