#include "services/pod-worker/volumes/csi/csi_fixture.h"

namespace splitlet::pod_worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A process that starts where an earlier one, or a kubelet, left volumes.
class CsiRestart : public CsiNode {};

TEST_F(CsiRestart, NothingIsUndoneBeforeThePodsAndTheNodeAreKnown) {
  objects.drivers.clear();
  Attach();
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  ShowNode({kName}, {kName});
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  objects.node = nullptr;  // the API server is away
  in_use = {};
  Begin(false);
  EXPECT_THAT(in_use.names, ElementsAre(kName)) << "the Node keeps it";
  EXPECT_TRUE(in_use.known);
  EXPECT_EQ(TakeDown("uid-a"), "done") << "the pod is gone for good";
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u);
  plugin->volumes().OnPodsKnown();
  loop.Advance(5s);
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u);
  EXPECT_THAT(in_use.names, ElementsAre(kName));
  objects.node = std::make_shared<NodeObject>();
  loop.Advance(1s);
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 1u);
  EXPECT_THAT(in_use.names, IsEmpty());
  EXPECT_FALSE(IsThere(StagingDir()));
}

TEST_F(CsiRestart, AWantedVolumeIsStagedAndPublishedAgain) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  Begin();
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u) << "its pod has not said that it goes";
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_EQ(driver.Calls("NodeStageVolume"), 2u);
  EXPECT_EQ(driver.Calls("NodePublishVolume"), 2u);
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_THAT(driver.Staged(), IsEmpty());
}

TEST_F(CsiRestart, AFinalErrorLeavesAMountThatMayExist) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  Begin();
  driver.AddFault({.method = "NodePublishVolume", .error = InvalidArgument("no"), .times = 1});
  EXPECT_THAT(SetUpDisk("uid-a"), HasSubstr(" : no"));
  EXPECT_TRUE(mounts.mounted().contains(Target("uid-a")));
  EXPECT_TRUE(IsThere(PlaceFor("uid-a", "disk").path + "/vol_data.json"));
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_EQ(driver.Calls("NodeUnpublishVolume"), 1u);
}

TEST_F(CsiRestart, AnInlineVolumeIsUnpublishedByTheHandleInItsFile) {
  Object().mutable_spec()->add_volume_lifecycle_modes("Ephemeral");
  EXPECT_EQ(SetUpInline("uid-a"), "done");
  Begin();
  EXPECT_EQ(TakeDown("uid-a", "v"), "done");
  const auto requests = driver.Requests<csi::v1::NodeUnpublishVolumeRequest>();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].volume_id(), csi::EphemeralHandle("uid-a", "v"));
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u);
}

TEST_F(CsiRestart, AStageWithoutPodIsUndone) {
  calls->Hold("NodeStageVolume");
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  Begin(false);
  calls->Release();
  loop.RunUntilIdle();
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u);
  plugin->volumes().OnPodsKnown();
  loop.RunUntilIdle();
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 1u);
  EXPECT_FALSE(IsThere(StagingDir()));
}

TEST_F(CsiRestart, AStageThatAnUnreadableMountMayUseStays) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  ASSERT_TRUE(
      files.Replace(PlaceFor("uid-a", "disk").path + "/vol_data.json", "{\"driver", {}).ok());
  Begin();
  loop.Advance(10s);
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u);
  ASSERT_TRUE(mounts.Unmount(Target("uid-a")).ok());
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 1u);
}

/// Killed at each fail point, the next start ends with the volume mounted, and then with nothing.
TEST_F(CsiRestart, KilledAnywhereItGoesOn) {
  for (const char* point :
       {"pod-worker.csi-save-data.before", "pod-worker.csi-save-data.after",
        "pod-worker.csi-stage.before", "pod-worker.csi-stage.after",
        "pod-worker.csi-publish.before", "pod-worker.csi-publish.after",
        "pod-worker.csi-unpublish.before", "pod-worker.csi-unpublish.after",
        "pod-worker.csi-unstage.before", "pod-worker.csi-unstage.after",
        "pod-worker.csi-remove-dir.before", "pod-worker.csi-remove-dir.after"}) {
    SCOPED_TRACE(point);
    bool killed = false;
    FailPoints points({.crash =
                           [&killed] {
                             killed = true;
                             throw exec::Scheduler::CrashedHere();
                           },
                       .delay = {}});
    FailPoints::SetCurrent(&points);
    ASSERT_TRUE(points.Set(point, "1*crash->off").ok());
    SetUpDisk("uid-a");
    TakeDown("uid-a");
    EXPECT_TRUE(killed);
    Begin();
    EXPECT_EQ(SetUpDisk("uid-a"), "done");
    EXPECT_EQ(TakeDown("uid-a"), "done");
    EXPECT_THAT(driver.Published(), IsEmpty());
    EXPECT_THAT(driver.Staged(), IsEmpty());
    EXPECT_FALSE(IsThere(StagingDir()));
    EXPECT_FALSE(IsThere(PlaceFor("uid-a", "disk").path));
    EXPECT_THAT(driver.Violations(), IsEmpty());
    EXPECT_THAT(mounts.mounted(), IsEmpty());
    FailPoints::SetCurrent(nullptr);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
