#include "services/pod-worker/volumes/csi/csi_volumes.h"

#include "services/pod-worker/volumes/csi/csi_fixture.h"

namespace splitlet::pod_worker {
namespace {

using csi::FakeFault;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CsiMounts : public CsiNode {};

TEST_F(CsiMounts, AreStagedOnceForTheNodeAndPublishedOnceForAPod) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_EQ(SetUpDisk("uid-b"), "done");
  EXPECT_EQ(SetUpDisk("uid-b"), "done") << "again";
  EXPECT_EQ(driver.Calls("NodeStageVolume"), 1u);
  EXPECT_EQ(driver.Calls("NodePublishVolume"), 2u);
  EXPECT_TRUE(mounts.mounted().contains(Target("uid-a")));
  EXPECT_TRUE(mounts.mounted().contains(Target("uid-b")));
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u) << "another pod has it";
  EXPECT_EQ(TakeDown("uid-b"), "done");
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 1u);
  EXPECT_FALSE(IsThere(StagingDir()));
  EXPECT_FALSE(IsThere(PlaceFor("uid-b", "disk").path));
  EXPECT_THAT(driver.Violations(), IsEmpty());
}

TEST_F(CsiMounts, RequestsHaveWhatTheVolumeSays) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  const auto stage = driver.Requests<csi::v1::NodeStageVolumeRequest>().at(0);
  EXPECT_EQ(stage.staging_target_path(), StagingDir() + "/globalmount");
  EXPECT_EQ(stage.volume_capability().mount().fs_type(), "ext4");
  EXPECT_EQ(stage.volume_context().at("size"), "big");
  const auto publish = driver.Requests<csi::v1::NodePublishVolumeRequest>().at(0);
  EXPECT_EQ(publish.target_path(), Target("uid-a"));
  EXPECT_EQ(publish.staging_target_path(), StagingDir() + "/globalmount");
  EXPECT_EQ(publish.volume_context_size(), 1) << "neither pod information nor tokens";
  EXPECT_EQ(ContentOf(StagingDir() + "/vol_data.json"),
            "{\"driverName\":\"disk.csi.example.com\",\"volumeHandle\":\"vol-1\"}\n");
  EXPECT_THAT(ContentOf(PlaceFor("uid-a", "disk").path + "/vol_data.json"),
              HasSubstr("\"specVolID\":\"disk\""));
}

TEST_F(CsiMounts, OfADriverWithoutStagingAreOnlyPublished) {
  driver.SetTraits({.name = kDriver});
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_EQ(driver.Requests<csi::v1::NodePublishVolumeRequest>().at(0).staging_target_path(), "");
  EXPECT_FALSE(IsThere(StagingDir()));
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_EQ(driver.Calls("NodeStageVolume") + driver.Calls("NodeUnstageVolume"), 0u);
}

TEST_F(CsiMounts, AStageWithoutAnswerIsUnstagedWhenThePodGoes) {
  driver.AddFault({.method = "NodeStageVolume",
                   .kind = FakeFault::Kind::kLose,
                   .error = DeadlineExceeded("context deadline exceeded")});
  EXPECT_EQ(SetUpDisk("uid-a"),
            "MountVolume.MountDevice failed for volume \"disk\" : context deadline exceeded");
  EXPECT_TRUE(IsThere(StagingDir() + "/vol_data.json"));
  EXPECT_EQ(TakeDown("uid-a"), "done");
  loop.Advance(500ms);
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 1u);
  EXPECT_FALSE(IsThere(StagingDir()));
}

TEST_F(CsiMounts, AStageThatTheDriverRefusedLeavesNothing) {
  driver.AddFault({.method = "NodeStageVolume", .error = InvalidArgument("no"), .times = 1});
  EXPECT_EQ(SetUpDisk("uid-a"), "MountVolume.MountDevice failed for volume \"disk\" : no");
  EXPECT_FALSE(IsThere(StagingDir()));
  EXPECT_EQ(SetUpDisk("uid-a"), "under way") << "before the back-off ends";
  loop.Advance(500ms);
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
}

TEST_F(CsiMounts, AMissingDriverIsReportedAndMountsWhenItRegisters) {
  drivers.registered.clear();
  EXPECT_EQ(SetUpDisk("uid-a"),
            "MountVolume.MountDevice failed for volume \"disk\" : kubernetes.io/csi: "
            "attacher.MountDevice failed to create newCsiDriverClient: driver name "
            "disk.csi.example.com not found in the list of registered CSI drivers");
  Register();
  plugin->volumes().OnDriversChanged();
  loop.RunUntilIdle();
  EXPECT_TRUE(woken.contains("uid-a"));
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
}

TEST_F(CsiMounts, AFailingPublishOfOnePodDelaysNoOther) {
  driver.AddFault({.method = "NodePublishVolume", .error = Internal("first"), .times = 1});
  EXPECT_EQ(SetUpDisk("uid-a"), "MountVolume.SetUp failed for volume \"disk\" : first");
  EXPECT_FALSE(IsThere(PlaceFor("uid-a", "disk").path));
  EXPECT_EQ(SetUpDisk("uid-b"), "done");
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  loop.Advance(500ms);
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
}

TEST_F(CsiMounts, AHangingDriverHoldsNoThreadAndThePodWaitsForItsAnswer) {
  calls->Hold("NodePublishVolume");
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  EXPECT_EQ(TakeDown("uid-a"), "under way") << "the publish may still succeed";
  EXPECT_EQ(SetUpInline("uid-b"),
            "MountVolume.SetUp failed for volume \"v\" : kubernetes.io/csi: "
            "mounter.SetupAt failed to check volume lifecycle mode: volume "
            "mode \"Ephemeral\" not supported by driver "
            "disk.csi.example.com (only supports [\"Persistent\"])");
  calls->Release();
  loop.RunUntilIdle();
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_THAT(driver.Published(), IsEmpty());
  EXPECT_THAT(driver.Staged(), IsEmpty());
}

TEST_F(CsiMounts, AreForOnePodWhereReadWriteOncePodIsTheOnlyMode) {
  const std::string one = "csi: {driver: disk.csi.example.com, volumeHandle: vol-1}, accessModes: ";
  EXPECT_EQ(SetUpDisk("uid-a", one + "[ReadWriteOncePod]"), "done");
  EXPECT_EQ(SetUpDisk("uid-b", one + "[ReadWriteOncePod]"),
            "MountVolume.SetUp failed for volume \"disk\" : volume uses the ReadWriteOncePod "
            "access mode and is already in use by another pod");
  EXPECT_EQ(SetUpDisk("uid-c", one + "[ReadWriteOncePod, ReadWriteOnce]"), "done");
}

TEST_F(CsiMounts, AnUnpublishWaitsForItsDriver) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  drivers.registered.clear();
  EXPECT_THAT(TakeDown("uid-a"),
              HasSubstr("Unmounter.TearDownAt failed to get CSI client: driver name"));
  EXPECT_THAT(in_use.names, IsEmpty()) << "it needs no attachment";
  Register();
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_THAT(driver.Published(), IsEmpty());
}

TEST_F(CsiMounts, ATargetThatIsStillMountedIsAFailure) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  stays_mounted = true;
  EXPECT_THAT(TakeDown("uid-a"), HasSubstr("is still mounted"));
  EXPECT_TRUE(IsThere(PlaceFor("uid-a", "disk").path + "/vol_data.json"));
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 0u);
  stays_mounted = false;
  EXPECT_EQ(TakeDown("uid-a"), "done");
}

TEST_F(CsiMounts, AreTornDownOnlyWithAHandle) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  const std::string file = PlaceFor("uid-a", "disk").path + "/vol_data.json";
  ASSERT_TRUE(files.Replace(file, "{\"driverName\":\"disk.csi.example.com\"}", {}).ok());
  EXPECT_THAT(TakeDown("uid-a"), HasSubstr("unmounter failed to load volume data file"));
  EXPECT_EQ(driver.Calls("NodeUnpublishVolume"), 0u);
  ASSERT_TRUE(mounts.Unmount(Target("uid-a")).ok());
  EXPECT_EQ(TakeDown("uid-a"), "done") << "nothing is mounted there any more";
}

TEST_F(CsiMounts, OfTheNextPodWaitForAnUnstage) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  calls->Hold("NodeUnstageVolume");
  EXPECT_EQ(TakeDown("uid-a"), "done") << "the pod does not wait";
  EXPECT_EQ(SetUpDisk("uid-b"), "under way");
  calls->Release();
  loop.RunUntilIdle();
  EXPECT_EQ(SetUpDisk("uid-b"), "done");
  EXPECT_THAT(driver.Violations(), IsEmpty());
}

TEST_F(CsiMounts, AnUnstageThatFailsIsRepeated) {
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  driver.AddFault({.method = "NodeUnstageVolume", .error = Internal("busy"), .times = 2});
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_EQ(driver.Staged().size(), 1u);
  loop.Advance(500ms);
  EXPECT_EQ(driver.Calls("NodeUnstageVolume"), 2u);
  loop.Advance(1s);
  EXPECT_THAT(driver.Staged(), IsEmpty());
}

class CsiAttach : public CsiNode {
 protected:
  CsiAttach() { objects.drivers.clear(); }  // without an object, volumes are attached
};

TEST_F(CsiAttach, AVolumeIsPromisedBeforeItIsMounted) {
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  EXPECT_THAT(in_use.names, ElementsAre(kName));
  EXPECT_TRUE(in_use.known);
  Attach();
  ShowNode({}, {kName});
  EXPECT_EQ(SetUpDisk("uid-a"), "under way") << "the Node does not show the promise";
  EXPECT_EQ(driver.Calls("NodeStageVolume"), 0u);
  woken.clear();
  ShowNode({kName}, {kName});
  EXPECT_TRUE(woken.contains("uid-a"));
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_EQ(driver.Requests<csi::v1::NodeStageVolumeRequest>().at(0).publish_context().at("path"),
            "/dev/x");
  EXPECT_EQ(driver.Requests<csi::v1::NodePublishVolumeRequest>().at(0).publish_context().at("path"),
            "/dev/x");
  EXPECT_EQ(TakeDown("uid-a"), "done");
  EXPECT_THAT(in_use.names, IsEmpty());
}

TEST_F(CsiAttach, ARecordThatIsLateIsCheckedWithTheNode) {
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  ShowNode({kName}, {kName});
  EXPECT_EQ(SetUpDisk("uid-a"), "under way") << "no error of the pod";
  EXPECT_EQ(driver.Calls("NodeStageVolume"), 0u);
  Attach();
  loop.Advance(500ms);
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
}

TEST_F(CsiAttach, TheAttachmentSaysWhyItIsNotReady) {
  auto& attachment = Attach();
  const std::string id = csi::AttachmentName(kHandle, kDriver, "node-1");
  const std::string failed = "MountVolume.WaitForAttach failed for volume \"disk\" : ";
  attachment.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  ShowNode({kName}, {kName});
  EXPECT_EQ(SetUpDisk("uid-a"), failed + "volume attachment is being deleted");
  attachment.mutable_metadata()->clear_deletion_timestamp();
  attachment.mutable_status()->set_attached(false);
  loop.Advance(500ms);
  EXPECT_EQ(SetUpDisk("uid-a"),
            failed + "volume vol-1 is not attached for volume attachment " + id);
  attachment.mutable_status()->set_attached(true);
  loop.Advance(1s);
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
}

TEST_F(CsiAttach, IsNotAskedOfADriverThatNeedsNone) {
  Object().mutable_spec()->set_attach_required(false);
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_THAT(in_use.names, IsEmpty());
  EXPECT_THAT(objects.reads, testing::Not(testing::Contains("attachment")));
}

TEST_F(CsiAttach, FollowsTheDriverObjectBothWays) {
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  EXPECT_THAT(in_use.names, ElementsAre(kName));
  Object().mutable_spec()->set_attach_required(false);
  plugin->volumes().OnDriversChanged();
  loop.RunUntilIdle();
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_THAT(in_use.names, IsEmpty());
  Object().mutable_spec()->set_attach_required(true);
  plugin->volumes().OnDriversChanged();
  EXPECT_THAT(in_use.names, ElementsAre(kName));
}

TEST_F(CsiAttach, WaitsForTheListOfDriverObjects) {
  objects.listed = false;
  EXPECT_EQ(SetUpDisk("uid-a"), "under way");
  EXPECT_THAT(in_use.names, ElementsAre(kName));
  objects.listed = true;
  Object().mutable_spec()->set_attach_required(false);
  plugin->volumes().OnDriversChanged();
  loop.RunUntilIdle();
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
}

TEST_F(CsiAttach, AnInlineVolumeWithoutDriverObjectIsRefused) {
  EXPECT_EQ(SetUpInline("uid-a"),
            "MountVolume.SetUp failed for volume \"v\" : kubernetes.io/csi: mounter.SetupAt failed "
            "to check volume lifecycle mode: volume mode \"Ephemeral\" not supported by driver "
            "disk.csi.example.com (no CSIDriver object)");
  EXPECT_THAT(in_use.names, IsEmpty());
}

}  // namespace
}  // namespace splitlet::pod_worker
