#include <gtest/gtest.h>

#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/pods_fixture.h"
#include "services/pod-worker/volumes/volume_manager.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

/// A pod with a claim on the volume "disk".
class PersistentVolumes : public testing::Test {
 protected:
  PersistentVolumes() {
    for (const char* dir : {"/srv/a", "/srv/b"}) EXPECT_TRUE(files_.MakeDirs(dir, 0755).ok());
  }
  void Put(const std::string& spec) {
    auto read = ReadObjects(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {" + spec +
            "}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
            "spec: {volumeName: disk}\n",
        "f.yaml");
    ASSERT_TRUE(read.ok()) << read.status();
    objects_ = *std::move(read);
    objects_.BindClaims();
  }
  StatusOr<VolumePaths> SetUp(const kube::Pod& pod) {
    return manager_.SetUp({pod, &objects_},
                          node::FindPodPlace(files_, node_.pod_roots, "uid-web").value());
  }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  fs::FakeMounts mounts_{files_};
  fs::FakeOwnership ownership_{files_};
  NodeInfo node_{.name = "node-1", .pod_roots = {"/state/pods", "/kubelet"}};
  ObjectSet objects_;
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  std::vector<std::string> ran_;
  VolumeManager manager_{{files_, mounts_, ownership_, clock_, node_, log_, metrics_,
                          [this](const process::Program& program) -> StatusOr<std::string> {
                            ran_ = program.argv;
                            return std::string();
                          }}};
  const std::string claim_ = "[{name: v, persistentVolumeClaim: {claimName: data}}]";
};

TEST_F(PersistentVolumes, TheKindsThatANodeHasByItself) {
  const std::string here =
                        "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                        "kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}",
                    other =
                        "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                        "kubernetes.io/hostname, operator: In, values: [node-2]}]}]}}",
                    volumes = "/kubelet/pods/uid-web/volumes/";
  const struct {
    std::string spec, want;  // the path on the host, or why there is none
  } kCases[] = {
      {"hostPath: {path: /srv/a}", "/srv/a"},
      {"hostPath: {path: /srv/made, type: DirectoryOrCreate}", "/srv/made"},
      {"hostPath: {path: /srv/a, type: File}",
       "MountVolume.SetUp failed for volume \"disk\" : hostPath type check failed: /srv/a is not a "
       "file"},
      {"hostPath: {path: /srv/a/../b}",
       "MountVolume.SetUp failed for volume \"disk\" : invalid HostPath `/srv/a/../b`: must not "
       "contain '..'"},
      {"local: {path: /srv/b}", volumes + "kubernetes.io~local-volume/disk"},
      {"nfs: {server: a, path: /b}", volumes + "kubernetes.io~nfs/disk"},
      {"csi: {driver: d, volumeHandle: h}",
       "Unable to attach or mount volumes: persistent volume \"disk\" of type \"csi\" is not "
       "supported"},
      {"hostPath: {path: /srv/a}, mountOptions: [ro]",
       "MountVolume.MountOptionSupport check failed for volume \"disk\" : mount options are not "
       "supported for this volume type"},
      {"local: {path: /srv/b}, " + here, volumes + "kubernetes.io~local-volume/disk"},
      {"local: {path: /srv/b}, " + other,
       "MountVolume.NodeAffinity check failed for volume \"disk\" : no matching NodeSelectorTerms"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    Put(c.spec);
    const auto paths = SetUp(PodWithVolumes(claim_, {"v"}));
    EXPECT_EQ(paths.ok() ? paths->at("v") : Message(paths.status()), c.want);
    ASSERT_TRUE(manager_.TearDown("uid-web", "api").ok());
  }
}

/// A claim is a name for what another object says: nothing of the pod's volume counts beside it.
TEST(VolumeSpec, SaysWhatIsBehindTheClaim) {
  const kube::Volume claimed = ClaimOf(true);
  const auto spec = BehindClaim(
      "nfs: {server: a, path: /b}, mountOptions: [hard], accessModes: [ReadWriteOnce, "
      "ReadOnlyMany], volumeMode: Block",
      claimed);
  EXPECT_EQ(spec.name(), "disk");
  EXPECT_EQ(spec.kind(), "nfs");
  EXPECT_TRUE(spec.read_only());
  EXPECT_TRUE(spec.is_block());
  EXPECT_EQ(spec.mount_options(), std::vector<std::string>{"hard"});
  EXPECT_EQ(spec.access_modes(), (std::vector<std::string>{"ReadWriteOnce", "ReadOnlyMany"}));
  const auto pod = PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"});
  const VolumeSpec own{pod.spec().volumes(0)};
  EXPECT_EQ(own.name(), "v");
  EXPECT_EQ(own.kind(), "emptyDir");
  EXPECT_EQ(own.source(), nullptr);
  EXPECT_FALSE(own.read_only());
}

}  // namespace
}  // namespace splitlet::pod_worker
