#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/volumes/csi/csi_fixture.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// The plugin behind the volumes of a pod: claims, persistent volumes, the pod's directory.
class CsiManager : public CsiNode {
 protected:
  void Put(const std::string& spec) {
    auto read = ReadObjects(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {" + spec +
            "}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
            "spec: {volumeName: disk}\n",
        "f.yaml");
    ASSERT_TRUE(read.ok()) << read.status();
    claims_ = *std::move(read);
    claims_.BindClaims();
  }
  node::PodPlace Place() { return node::FindPodPlace(files, node_.pod_roots, "uid-web").value(); }
  StatusOr<PodVolumes> SetUpPod(const kube::Pod& pod) {
    manager_->SetUp({pod, &claims_}, Place()).IgnoreError();
    loop.RunUntilIdle();
    return manager_->SetUp({pod, &claims_}, Place());
  }
  bool TakeDownPod() {
    for (int i = 0; i < 5; ++i) {
      const auto gone = manager_->TearDown("uid-web", "api");
      EXPECT_TRUE(gone.ok()) << gone.status();
      if (gone.ok() && *gone == Progress::kDone) return true;
      loop.RunUntilIdle();
    }
    return false;
  }

  const NodeInfo node_{.name = "node-1", .pod_roots = {"/state/pods", "/kubelet"}};
  prometheus::Registry registry_;
  Metrics counts_{registry_};
  ObjectSet claims_;
  const std::unique_ptr<VolumeManager> manager_ =
      std::make_unique<VolumeManager>(VolumeManager::Deps{.files = files,
                                                          .mounts = mounts,
                                                          .ownership = ownership,
                                                          .clock = clock,
                                                          .node = node_,
                                                          .log = log,
                                                          .metrics = counts_,
                                                          .csi = plugin.get()});
  const kube::Pod pod_ =
      PodWithVolumes("[{name: v, persistentVolumeClaim: {claimName: data}}]", {"v"});
};

TEST_F(CsiManager, AClaimIsTheVolumeOfADriver) {
  Put(kSource + ", mountOptions: [noatime]");
  const auto made = SetUpPod(pod_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->progress, Progress::kDone);
  EXPECT_THAT(made->paths, ElementsAre(Pair("v", Target("uid-web"))));
  const auto publish = driver.Requests<csi::v1::NodePublishVolumeRequest>().at(0);
  EXPECT_THAT(publish.volume_capability().mount().mount_flags(), ElementsAre("noatime"));
  EXPECT_TRUE(TakeDownPod());
  EXPECT_THAT(driver.Published(), IsEmpty());
  EXPECT_THAT(driver.Staged(), IsEmpty());
  EXPECT_FALSE(IsThere(Place().path + "/volumes/kubernetes.io~csi"));
}

TEST_F(CsiManager, ASyncPublishesAVolumeBehindAClaimAgain) {
  Object().mutable_spec()->set_requires_republish(true);
  Put(kSource);
  ASSERT_TRUE(SetUpPod(pod_).ok());
  EXPECT_TRUE(manager_->MayRefresh(pod_));
  EXPECT_FALSE(manager_->MayRefresh(PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"})));
  const size_t before = driver.Calls("NodePublishVolume");
  manager_->Refresh({pod_, &claims_}, Place(),
                    [](const char*, const Status& why) { ADD_FAILURE() << Message(why); });
  loop.RunUntilIdle();
  EXPECT_EQ(driver.Calls("NodePublishVolume"), before + 1);
}

TEST_F(CsiManager, APodThatNeverGotItsVolumeLeavesNothing) {
  objects.drivers.clear();
  Put(kSource);
  const auto made = SetUpPod(pod_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->progress, Progress::kUnderWay);
  EXPECT_THAT(in_use.names, ElementsAre(kName));
  EXPECT_TRUE(TakeDownPod());
  EXPECT_THAT(in_use.names, IsEmpty());
}

TEST_F(CsiManager, AVolumeOfACloudIsMountedByItsDriver) {
  const std::string driver_name = "pd.csi.storage.gke.io";
  drivers.registered[driver_name] = calls;
  objects.drivers[driver_name] = objects.drivers.at(kDriver);
  Put("gcePersistentDisk: {pdName: pd, fsType: ext4}, accessModes: [ReadWriteOnce]");
  const auto made = SetUpPod(pod_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->paths, ElementsAre(Pair("v", Target("uid-web"))));
  EXPECT_EQ(driver.Calls("NodeStageVolume"), 1u);
  EXPECT_TRUE(TakeDownPod());
}

TEST_F(CsiManager, ABlockDeviceIsRefused) {
  Put(kSource + ", volumeMode: Block");
  kube::Pod pod = pod_;
  auto& container = *pod.mutable_spec()->mutable_containers(0);
  container.clear_volume_mounts();
  container.add_volume_devices()->set_name("v");
  const auto made = SetUpPod(pod);
  EXPECT_EQ(Message(made.status()),
            "MapVolume.FindMapperPluginBySpec failed for volume \"disk\" : a volume of type "
            "\"csi\" is no block device");
}

}  // namespace
}  // namespace splitlet::pod_worker
