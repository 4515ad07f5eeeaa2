#include "libs/csi/requests.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "csi/v1/csi.pb.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/csi/names.h"
#include "libs/kube/codec.h"

namespace splitlet::csi {
namespace {

namespace core = k8s::io::api::core::v1;
using enum NodeCapability;

template <class Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

/// Compares the message with its text form, maps in any order.
template <class Message>
void ExpectIs(const Message& got, const std::string& want) {
  const auto wanted = FromText<Message>(want);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(got, wanted))
      << got.DebugString() << "\nwanted\n"
      << wanted.DebugString();
}

Volume Persistent() {
  core::PersistentVolume pv;
  const auto decoded = kube::DecodeInto(R"(
    metadata: {name: pv-1}
    spec:
      accessModes: [ReadWriteOnce, ReadOnlyMany]
      mountOptions: [noatime, discard]
      csi:
        driver: d.example.com
        volumeHandle: vol-1
        fsType: xfs
        readOnly: true
        volumeAttributes: {pool: fast}
        nodeStageSecretRef: {name: s, namespace: ns}
        nodePublishSecretRef: {name: p, namespace: ns}
        nodeExpandSecretRef: {name: e, namespace: ns}
  )",
                                        "pv.yaml", kube::Strictness::kStrict, pv);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  const auto volume = FromPersistentVolume(pv);
  EXPECT_TRUE(volume.ok()) << volume.status();
  return *volume;
}

Volume Inline() {
  core::CSIVolumeSource source;
  source.set_driver("d.example.com");
  source.set_fs_type("ext4");
  (*source.mutable_volume_attributes())["pool"] = "slow";
  source.mutable_node_publish_secret_ref()->set_name("p");
  const auto volume = FromInlineVolume(
      source, {.pod_uid = "uid-1", .pod_namespace = "ns-1", .volume_name = "data"});
  EXPECT_TRUE(volume.ok()) << volume.status();
  return *volume;
}

TEST(CsiVolume, IsReadFromAPersistentVolume) {
  const Volume volume = Persistent();
  EXPECT_EQ(volume.spec, "pv-1");
  EXPECT_EQ(volume.stage_secret, (SecretName{"ns", "s"}));
  EXPECT_EQ(volume.publish_secret, (SecretName{"ns", "p"}));
  EXPECT_EQ(volume.expand_secret, (SecretName{"ns", "e"}));
  EXPECT_FALSE(volume.block);
}

TEST(CsiVolume, AnInlineVolumeHasAHandleAndTheSecretOfItsPod) {
  const Volume volume = Inline();
  EXPECT_EQ(volume.handle, EphemeralHandle("uid-1", "data"));
  EXPECT_EQ(volume.spec, "data");
  EXPECT_EQ(volume.lifecycle, Lifecycle::kEphemeral);
  EXPECT_EQ(volume.publish_secret, (SecretName{"ns-1", "p"}));
  EXPECT_EQ(volume.stage_secret, std::nullopt);
}

TEST(CsiVolume, WhatCannotBeUsedIsRefused) {
  core::PersistentVolume pv;
  EXPECT_EQ(FromPersistentVolume(pv).status().code(), StatusCode::kInvalidArgument);
  auto& csi = *pv.mutable_spec()->mutable_persistent_volume_source()->mutable_csi();
  csi.set_driver("../d");
  csi.set_volume_handle("h");
  EXPECT_FALSE(FromPersistentVolume(pv).ok());
  csi.set_driver("d");
  EXPECT_TRUE(FromPersistentVolume(pv).ok());
  csi.set_volume_handle("");
  EXPECT_FALSE(FromPersistentVolume(pv).ok());
}

TEST(CsiRequests, StageHasEveryField) {
  const NodeCapabilities capabilities{kStageUnstageVolume, kVolumeMountGroup};
  ExpectIs(MakeStageRequest({.volume = Persistent(),
                             .capabilities = capabilities,
                             .staging_path = "/g",
                             .publish_context = {{"devicePath", "/dev/a"}},
                             .secrets = {{"key", "secret"}},
                             .options = {.fs_group = 2000, .se_linux_label = "u:r:t:s0"}}),
           R"(volume_id: "vol-1"
              publish_context { key: "devicePath" value: "/dev/a" }
              staging_target_path: "/g"
              volume_capability {
                mount { fs_type: "xfs" mount_flags: "noatime" mount_flags: "discard"
                        mount_flags: "context=\"u:r:t:s0\"" volume_mount_group: "2000" }
                access_mode { mode: SINGLE_NODE_WRITER } }
              secrets { key: "key" value: "secret" }
              volume_context { key: "pool" value: "fast" })");
}

TEST(CsiRequests, AGroupGoesOnlyToADriverThatTakesIt) {
  const auto capability =
      MakeVolumeCapability(Persistent(), {kSingleNodeMultiWriter}, {.fs_group = 2000});
  EXPECT_EQ(capability.mount().volume_mount_group(), "");
  EXPECT_EQ(capability.access_mode().mode(),
            ::csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_MULTI_WRITER);
}

TEST(CsiRequests, ABlockVolumeHasNoMount) {
  Volume volume = Persistent();
  volume.block = true;
  ExpectIs(MakeVolumeCapability(volume, {kVolumeMountGroup},
                                {.fs_group = 2000, .se_linux_label = "u:r:t:s0"}),
           "block {} access_mode { mode: SINGLE_NODE_WRITER }");
}

TEST(CsiRequests, NoFsTypeStaysEmpty) {
  Volume volume = Persistent();
  volume.fs_type.clear();
  volume.mount_options.clear();
  ExpectIs(MakeVolumeCapability(volume, {}, {}),
           "mount {} access_mode { mode: SINGLE_NODE_WRITER }");
}

TEST(CsiRequests, PublishOfAPersistentVolumeHasEveryField) {
  const NodeCapabilities capabilities{kStageUnstageVolume};
  ExpectIs(MakePublishRequest({.volume = Persistent(),
                               .capabilities = capabilities,
                               .staging_path = "/g",
                               .target_path = "/t",
                               .read_only = true,
                               .publish_context = {{"devicePath", "/dev/a"}},
                               .secrets = {{"key", "secret"}},
                               .pod = PodInfo{"web", "ns-1", "uid-1", "default"},
                               .tokens = "{}"}),
           R"(volume_id: "vol-1"
              publish_context { key: "devicePath" value: "/dev/a" }
              staging_target_path: "/g"
              target_path: "/t"
              volume_capability {
                mount { fs_type: "xfs" mount_flags: "noatime" mount_flags: "discard" }
                access_mode { mode: SINGLE_NODE_WRITER } }
              readonly: true
              secrets { key: "key" value: "secret" }
              volume_context { key: "pool" value: "fast" }
              volume_context { key: "csi.storage.k8s.io/pod.name" value: "web" }
              volume_context { key: "csi.storage.k8s.io/pod.namespace" value: "ns-1" }
              volume_context { key: "csi.storage.k8s.io/pod.uid" value: "uid-1" }
              volume_context { key: "csi.storage.k8s.io/serviceAccount.name" value: "default" }
              volume_context { key: "csi.storage.k8s.io/ephemeral" value: "false" }
              volume_context { key: "csi.storage.k8s.io/serviceAccount.tokens" value: "{}" })");
}

TEST(CsiRequests, PublishOfAnInlineVolumeHasNeitherStagingNorContext) {
  const NodeCapabilities capabilities{kStageUnstageVolume};
  const Volume volume = Inline();
  ExpectIs(MakePublishRequest({.volume = volume,
                               .capabilities = capabilities,
                               .staging_path = "/g",
                               .target_path = "/t",
                               .publish_context = {{"devicePath", "/dev/a"}},
                               .pod = PodInfo{"web", "ns-1", "uid-1", "default"},
                               .tokens = "{}",
                               .token_place = TokenPlace::kSecrets}),
           R"(volume_id: ")" + volume.handle + R"("
              target_path: "/t"
              volume_capability {
                mount { fs_type: "ext4" } access_mode { mode: SINGLE_NODE_WRITER } }
              secrets { key: "csi.storage.k8s.io/serviceAccount.tokens" value: "{}" }
              volume_context { key: "pool" value: "slow" }
              volume_context { key: "csi.storage.k8s.io/pod.name" value: "web" }
              volume_context { key: "csi.storage.k8s.io/pod.namespace" value: "ns-1" }
              volume_context { key: "csi.storage.k8s.io/pod.uid" value: "uid-1" }
              volume_context { key: "csi.storage.k8s.io/serviceAccount.name" value: "default" }
              volume_context { key: "csi.storage.k8s.io/ephemeral" value: "true" })");
}

TEST(CsiRequests, WithoutStagingThereIsNoStagingPath) {
  const NodeCapabilities none;
  const auto request = MakePublishRequest(
      {.volume = Persistent(), .capabilities = none, .staging_path = "/g", .target_path = "/t"});
  EXPECT_EQ(request.staging_target_path(), "");
  EXPECT_EQ(request.volume_context().size(), 1u);
}

TEST(CsiRequests, ABlockVolumeIsSentNoTokens) {
  const NodeCapabilities none;
  Volume volume = Persistent();
  volume.block = true;
  const auto request = MakePublishRequest(
      {.volume = volume, .capabilities = none, .target_path = "/t", .tokens = "{}"});
  EXPECT_EQ(request.volume_context().size(), 1u);
}

TEST(CsiRequests, TheOthersHaveTheirPaths) {
  ExpectIs(MakeUnstageRequest("vol-1", "/g"), R"(volume_id: "vol-1" staging_target_path: "/g")");
  ExpectIs(MakeUnpublishRequest("vol-1", "/t"), R"(volume_id: "vol-1" target_path: "/t")");
  ExpectIs(MakeStatsRequest("vol-1", "/t"), R"(volume_id: "vol-1" volume_path: "/t")");
}

TEST(CsiRequests, ExpandHasEveryField) {
  const NodeCapabilities capabilities{kStageUnstageVolume, kExpandVolume};
  ExpectIs(MakeExpandRequest({.volume = Persistent(),
                              .capabilities = capabilities,
                              .volume_path = "/t",
                              .staging_path = "/g",
                              .required_bytes = 1 << 30,
                              .secrets = {{"key", "secret"}}}),
           R"(volume_id: "vol-1"
              volume_path: "/t"
              capacity_range { required_bytes: 1073741824 }
              staging_target_path: "/g"
              volume_capability {
                mount { fs_type: "xfs" mount_flags: "noatime" mount_flags: "discard" }
                access_mode { mode: SINGLE_NODE_WRITER } }
              secrets { key: "key" value: "secret" })");
}

TEST(CsiRequests, TokensAreJsonByAudience) {
  const WallTime expires = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2};
  EXPECT_EQ(TokensJson({{"vault", {"t<2>", expires}}, {"", {"t1", expires}}}),
            R"({"":{"token":"t1","expirationTimestamp":"2026-01-02T00:00:00Z"},)"
            R"("vault":{"token":"t\u003c2\u003e","expirationTimestamp":"2026-01-02T00:00:00Z"}})");
}

TEST(CsiCapabilities, UnknownOnesAreSkipped) {
  ::csi::v1::NodeGetCapabilitiesResponse response;
  response.add_capabilities()->mutable_rpc()->set_type(
      ::csi::v1::NodeServiceCapability::RPC::EXPAND_VOLUME);
  response.add_capabilities()->mutable_rpc()->set_type(
      static_cast<::csi::v1::NodeServiceCapability::RPC::Type>(77));
  response.add_capabilities();
  EXPECT_EQ(ReadCapabilities(response), NodeCapabilities{kExpandVolume});
}

}  // namespace
}  // namespace splitlet::csi
