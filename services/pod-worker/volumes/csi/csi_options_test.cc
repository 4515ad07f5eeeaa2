#include "services/pod-worker/volumes/csi/csi_fixture.h"

namespace splitlet::pod_worker {
namespace {

using testing::HasSubstr;

/// The driver, its object and the pod change the requests.
class CsiOptions : public CsiNode {
 protected:
  csi::v1::NodePublishVolumeRequest Published() const {
    return driver.Requests<csi::v1::NodePublishVolumeRequest>().back();
  }
};

TEST_F(CsiOptions, ADriverWithTheCapabilityGivesTheVolumeToTheGroup) {
  fs_group = 2000;
  driver.SetTraits({.name = kDriver,
                    .capabilities = {csi::NodeCapability::kStageUnstageVolume,
                                     csi::NodeCapability::kVolumeMountGroup}});
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  const auto stage = driver.Requests<csi::v1::NodeStageVolumeRequest>().at(0);
  EXPECT_EQ(stage.volume_capability().mount().volume_mount_group(), "2000");
  EXPECT_EQ(Published().volume_capability().mount().volume_mount_group(), "2000");
  EXPECT_EQ(ownership.AccessOf(Target("uid-a")), std::nullopt);
}

TEST_F(CsiOptions, TheFilesAreGivenToTheGroupAsThePolicySays) {
  fs_group = 2000;
  const struct {
    std::string policy, volume;
    bool read_only, want;
  } kCases[] = {
      {"", "fsType: ext4}, accessModes: [ReadWriteOnce]", false, true},
      {"", "fsType: ext4}, accessModes: [ReadWriteOnce]", true, false},
      {"", "fsType: ext4}, accessModes: [ReadWriteMany]", false, false},
      {"", "}, accessModes: [ReadWriteOnce]", false, false},
      {"File", "}, accessModes: [ReadWriteMany]", false, true},
      {"None", "fsType: ext4}, accessModes: [ReadWriteOnce]", false, false},
  };
  int number = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.policy + " " + c.volume);
    Object().mutable_spec()->set_fs_group_policy(c.policy);
    read_only = c.read_only;
    const std::string uid = fmt::format("uid-{}", ++number);
    EXPECT_EQ(
        SetUpDisk(uid, "csi: {driver: disk.csi.example.com, volumeHandle: vol-1, " + c.volume),
        "done");
    EXPECT_EQ(ownership.AccessOf(Target(uid)).has_value(), c.want);
    EXPECT_EQ(Published().readonly(), c.read_only);
    EXPECT_EQ(TakeDown(uid), "done");
  }
}

TEST_F(CsiOptions, OnRootMismatchLeavesAVolumeThatHasTheGroup) {
  fs_group = 2000;
  group_of = [](const std::string&) { return fs::OfGroup{2000, 02770}; };
  Begin();
  const auto claimed = ClaimOf();
  const auto spec = BehindClaim(kSource, claimed);
  auto pod = PodOf("uid-a", "{name: v, emptyDir: {}}");
  pod.mutable_spec()->mutable_security_context()->set_fs_group_change_policy("OnRootMismatch");
  EXPECT_EQ(Ask(spec, pod, PlaceFor("uid-a", "disk"), true), "done");
  EXPECT_EQ(ownership.AccessOf(Target("uid-a")), std::nullopt);
}

TEST_F(CsiOptions, InformationOfThePodAndTokens) {
  auto& wants = *Object().mutable_spec();
  wants.set_pod_info_on_mount(true);
  wants.add_volume_lifecycle_modes("Ephemeral");
  wants.add_token_requests();
  wants.add_token_requests()->set_audience("vault");
  EXPECT_EQ(SetUpInline("uid-a"), "done");
  const auto context = Published().volume_context();
  EXPECT_EQ(context.at("csi.storage.k8s.io/pod.name"), "a");
  EXPECT_EQ(context.at("csi.storage.k8s.io/pod.namespace"), "default");
  EXPECT_EQ(context.at("csi.storage.k8s.io/pod.uid"), "uid-a");
  EXPECT_EQ(context.at("csi.storage.k8s.io/serviceAccount.name"), "app");
  EXPECT_EQ(context.at("csi.storage.k8s.io/ephemeral"), "true");
  const std::string both =
      R"({"":{"token":"app/uid-a//0","expirationTimestamp":"1970-01-01T00:01:00Z"},)"
      R"("vault":{"token":"app/uid-a/vault/0","expirationTimestamp":"1970-01-01T00:01:00Z"}})";
  EXPECT_EQ(context.at(std::string(csi::kTokensKey)), both);
  EXPECT_EQ(Published().volume_id(), csi::EphemeralHandle("uid-a", "v"));
  wants.set_service_account_token_in_secrets(true);
  EXPECT_EQ(SetUpInline("uid-b"), "done");
  EXPECT_EQ(Published().secrets().count(std::string(csi::kTokensKey)), 1u);
  EXPECT_EQ(Published().volume_context().count(std::string(csi::kTokensKey)), 0u);
  EXPECT_EQ(TakeDown("uid-a", "v"), "done");
  EXPECT_EQ(driver.Calls("NodeStageVolume"), 0u);
}

TEST_F(CsiOptions, SecretsAreReadForEachCall) {
  const std::string source =
      "csi: {driver: disk.csi.example.com, volumeHandle: vol-1, nodeStageSecretRef: {name: s, "
      "namespace: ns}, nodePublishSecretRef: {name: p, namespace: ns}}, accessModes: "
      "[ReadWriteOnce]";
  EXPECT_EQ(
      SetUpDisk("uid-a", source),
      "MountVolume.MountDevice failed for volume \"disk\" : fetching NodeStageSecretRef ns/s "
      "failed: kubernetes.io/csi: failed to find the secret s in the namespace ns with error: "
      "no such secret");
  for (const char* name : {"s", "p"}) {
    auto& secret = objects.secrets[std::string("ns/") + name];
    secret = std::make_shared<Secret>();
    (*secret->mutable_data())["key"] = name;
  }
  loop.Advance(500ms);
  EXPECT_EQ(SetUpDisk("uid-a", source), "done");
  EXPECT_EQ(driver.Requests<csi::v1::NodeStageVolumeRequest>().at(0).secrets().at("key"), "s");
  EXPECT_EQ(Published().secrets().at("key"), "p");
}

TEST_F(CsiOptions, ARepublishThatFailsLeavesTheMountAndIsAnEvent) {
  Object().mutable_spec()->set_requires_republish(true);
  EXPECT_EQ(SetUpDisk("uid-a"), "done");
  EXPECT_EQ(driver.Calls("NodePublishVolume"), 1u) << "a mounted volume is not published again at "
                                                      "once";
  driver.AddFault({.method = "NodePublishVolume", .error = InvalidArgument("no"), .times = 1});
  EXPECT_EQ(SetUpDisk("uid-a", kSource, false),
            "MountVolume.SetUp failed for volume \"disk\" : no");
  EXPECT_TRUE(mounts.mounted().contains(Target("uid-a")));
  EXPECT_EQ(SetUpDisk("uid-a", kSource, true), "done") << "containers can start";
  loop.Advance(1s);
  const size_t before = driver.Calls("NodePublishVolume");
  EXPECT_EQ(SetUpDisk("uid-a", kSource, false), "done");
  EXPECT_GT(driver.Calls("NodePublishVolume"), before);
}

TEST_F(CsiOptions, AVolumeOfACloudIsItsDriversVolume) {
  const auto claimed = ClaimOf();
  const auto spec = BehindClaim(
      "gcePersistentDisk: {pdName: pd, fsType: ext4}, accessModes: [ReadWriteOnce]", claimed);
  EXPECT_FALSE(plugin->Takes(spec));
  const auto translated = Translated(spec, "default");
  ASSERT_TRUE(translated.ok()) << translated.status();
  EXPECT_TRUE(plugin->Takes(*translated));
  EXPECT_EQ(translated->name(), "disk");
  const auto pod = PodWithVolumes("[{name: v, gcePersistentDisk: {pdName: pd}}]", {"v"});
  const auto of_pod = Translated({pod.spec().volumes(0)}, "default");
  ASSERT_TRUE(of_pod.ok()) << of_pod.status();
  EXPECT_TRUE(plugin->Takes(*of_pod));
  const VolumeSpec other{claimed};
  EXPECT_FALSE(plugin->Takes(*Translated(other, "default")));
}

}  // namespace
}  // namespace splitlet::pod_worker
