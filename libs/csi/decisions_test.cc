// The decisions of a mount: access modes, ownership of files, classes of errors, states,
// attachments, and what the CSIDriver object says.

#include <gtest/gtest.h>

#include "csi/v1/csi.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/csi/access_mode.h"
#include "libs/csi/attachment.h"
#include "libs/csi/call_errors.h"
#include "libs/csi/driver_object.h"
#include "libs/csi/fs_group.h"
#include "libs/csi/mount_state.h"
#include "libs/csi/volume_stats.h"

namespace splitlet::csi {
namespace {

using enum NodeCapability;

TEST(CsiAccessModes, TheFirstModeCountsAndTheCapabilityNamesWriters) {
  const NodeCapabilities none, writers{kSingleNodeMultiWriter};
  const struct {
    const char* name;
    std::vector<std::string> modes;
    AccessMode plain, with_writers;
  } kCases[] = {
      {"once",
       {"ReadWriteOnce"},
       AccessMode::kSingleNodeWriter,
       AccessMode::kSingleNodeMultiWriter},
      {"once pod",
       {"ReadWriteOncePod"},
       AccessMode::kSingleNodeWriter,
       AccessMode::kSingleNodeSingleWriter},
      {"reads",
       {"ReadOnlyMany"},
       AccessMode::kMultiNodeReaderOnly,
       AccessMode::kMultiNodeReaderOnly},
      {"many",
       {"ReadWriteMany"},
       AccessMode::kMultiNodeMultiWriter,
       AccessMode::kMultiNodeMultiWriter},
      {"the first counts",
       {"ReadOnlyMany", "ReadWriteMany"},
       AccessMode::kMultiNodeReaderOnly,
       AccessMode::kMultiNodeReaderOnly},
      {"none is once", {}, AccessMode::kSingleNodeWriter, AccessMode::kSingleNodeMultiWriter},
      {"of a later Kubernetes", {"ReadSometimes"}, AccessMode::kUnknown, AccessMode::kUnknown},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(AccessModeOf(c.modes, none), c.plain);
    EXPECT_EQ(AccessModeOf(c.modes, writers), c.with_writers);
  }
}

TEST(CsiAccessModes, OnlyReadWriteOncePodAloneIsForOnePod) {
  EXPECT_TRUE(IsForOnePod({"ReadWriteOncePod"}));
  EXPECT_FALSE(IsForOnePod({"ReadWriteOncePod", "ReadWriteOnce"}));
  EXPECT_FALSE(IsForOnePod({}));
}

TEST(CsiFsGroup, WhoChangesTheOwner) {
  const NodeCapabilities none, takes_group{kVolumeMountGroup};
  Volume once{.driver = "d", .handle = "h", .fs_type = "ext4"};
  once.access_modes = {"ReadWriteOnce"};
  Volume no_type = once, no_modes = once, many = once, block = once, inline_volume = once;
  no_type.fs_type.clear();
  no_modes.access_modes.clear();
  many.access_modes = {"ReadWriteMany"};
  block.block = true;
  inline_volume.access_modes.clear();
  inline_volume.lifecycle = Lifecycle::kEphemeral;
  constexpr auto kWithType = FsGroupPolicy::kReadWriteOnceWithFsType;
  constexpr auto kFile = FsGroupPolicy::kFile;
  const struct {
    const char* name;
    GroupInput input;
    GroupOwnership want;
  } kCases[] = {
      {"no group", {once, none, kFile, std::nullopt}, GroupOwnership::kUnchanged},
      {"the driver takes it", {many, takes_group, kWithType, 2000}, GroupOwnership::kByDriver},
      {"the driver takes it, whatever the policy",
       {once, takes_group, FsGroupPolicy::kNone, 2000},
       GroupOwnership::kByDriver},
      {"the driver, but no group",
       {once, takes_group, kFile, std::nullopt},
       GroupOwnership::kUnchanged},
      {"policy None", {once, none, FsGroupPolicy::kNone, 2000}, GroupOwnership::kUnchanged},
      {"read-only",
       {.volume = once, .capabilities = none, .policy = kFile, .fs_group = 2000, .read_only = true},
       GroupOwnership::kUnchanged},
      {"policy File with many writers", {many, none, kFile, 2000}, GroupOwnership::kByWalk},
      {"once with a type", {once, none, kWithType, 2000}, GroupOwnership::kByWalk},
      {"without a type", {no_type, none, kWithType, 2000}, GroupOwnership::kUnchanged},
      {"without modes", {no_modes, none, kWithType, 2000}, GroupOwnership::kUnchanged},
      {"many writers", {many, none, kWithType, 2000}, GroupOwnership::kUnchanged},
      {"inline", {inline_volume, none, kWithType, 2000}, GroupOwnership::kByWalk},
      {"a block device", {block, takes_group, kFile, 2000}, GroupOwnership::kUnchanged},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ComputeGroupOwnership(c.input), c.want);
  }
}

TEST(CsiErrors, CodesThatMayHaveHadTheirEffectAreUncertain) {
  for (int code = 1; code <= 16; ++code) {
    const auto status = static_cast<StatusCode>(code);
    const bool uncertain =
        status == StatusCode::kCancelled || status == StatusCode::kDeadlineExceeded ||
        status == StatusCode::kUnavailable || status == StatusCode::kResourceExhausted ||
        status == StatusCode::kAborted;
    EXPECT_EQ(ClassOf(status), uncertain ? ErrorClass::kUncertain : ErrorClass::kFinal) << code;
  }
  EXPECT_EQ(GoCodeName(StatusCode::kOk), "OK");
  EXPECT_EQ(GoCodeName(StatusCode::kCancelled), "Canceled");
  EXPECT_EQ(GoCodeName(StatusCode::kDeadlineExceeded), "DeadlineExceeded");
  EXPECT_EQ(GoCodeName(static_cast<StatusCode>(99)), "Unknown");
}

TEST(CsiErrors, AnExpansionEndsByItsCode) {
  const struct {
    StatusCode code;
    bool other_size;
    ExpandResult want;
  } kCases[] = {
      {StatusCode::kOk, true, ExpandResult::kDone},
      {StatusCode::kDeadlineExceeded, true, ExpandResult::kRetry},
      {StatusCode::kInternal, false, ExpandResult::kFailed},
      {StatusCode::kInternal, true, ExpandResult::kInfeasible},
      {StatusCode::kInvalidArgument, false, ExpandResult::kInfeasible},
      {StatusCode::kOutOfRange, false, ExpandResult::kInfeasible},
      {StatusCode::kNotFound, false, ExpandResult::kInfeasible},
      {StatusCode::kFailedPrecondition, false, ExpandResult::kInUse},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(GoCodeName(c.code));
    EXPECT_EQ(ComputeExpandResult(c.code, ClassOf(c.code), c.other_size), c.want);
  }
  EXPECT_EQ(ComputeExpandResult(StatusCode::kPermissionDenied, ErrorClass::kTransient, true),
            ExpandResult::kRetry);
}

TEST(CsiMountState, EveryErrorInEveryState) {
  using M = MountState;
  using E = ErrorClass;
  const struct {
    M before;
    E error;
    M want, want_reconstructed;
  } kCases[] = {
      {M::kNotMounted, E::kFinal, M::kNotMounted, M::kNotMounted},
      {M::kNotMounted, E::kUncertain, M::kUncertain, M::kUncertain},
      {M::kNotMounted, E::kTransient, M::kNotMounted, M::kNotMounted},
      {M::kUncertain, E::kFinal, M::kNotMounted, M::kUncertain},
      {M::kUncertain, E::kUncertain, M::kUncertain, M::kUncertain},
      {M::kUncertain, E::kTransient, M::kUncertain, M::kUncertain},
      {M::kMounted, E::kFinal, M::kMounted, M::kMounted},
      {M::kMounted, E::kUncertain, M::kMounted, M::kMounted},
      {M::kMounted, E::kTransient, M::kMounted, M::kMounted},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(c.before), static_cast<int>(c.error)));
    EXPECT_EQ(AfterFailedMount(c.before, c.error, Origin::kMountedByUs), c.want);
    EXPECT_EQ(AfterFailedMount(c.before, c.error, Origin::kReconstructed), c.want_reconstructed);
    EXPECT_EQ(RemovesLeftovers(c.before, c.error, Origin::kMountedByUs),
              c.error == E::kFinal && c.before != M::kMounted);
    EXPECT_FALSE(RemovesLeftovers(c.before, c.error, Origin::kReconstructed));
  }
}

TEST(CsiMountState, AFailedUnmountLeavesItOpenWhetherItIsMounted) {
  using M = MountState;
  using E = ErrorClass;
  const struct {
    M before;
    E error;
    M want;
  } kCases[] = {
      {M::kMounted, E::kFinal, M::kUncertain},       {M::kMounted, E::kUncertain, M::kUncertain},
      {M::kMounted, E::kTransient, M::kMounted},     {M::kUncertain, E::kFinal, M::kUncertain},
      {M::kUncertain, E::kTransient, M::kUncertain}, {M::kNotMounted, E::kFinal, M::kNotMounted},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(c.before), static_cast<int>(c.error)));
    EXPECT_EQ(AfterFailedUnmount(c.before, c.error), c.want);
  }
}

TEST(CsiAttachment, IsReadyFailedOrWaitsWithTheKubeletsText) {
  AttachmentObject attached, waiting, failed, full, going;
  attached.mutable_status()->set_attached(true);
  (*attached.mutable_status()->mutable_attachment_metadata())["devicePath"] = "/dev/xvdba";
  attached.mutable_status()->mutable_attach_error()->set_message("an earlier one");
  waiting.mutable_status()->set_attached(false);
  failed.mutable_status()->mutable_attach_error()->set_message("no such disk");
  full.mutable_status()->mutable_attach_error()->set_message("no place");
  full.mutable_status()->mutable_attach_error()->set_error_code(8);
  going = attached;
  going.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  const struct {
    const char* name;
    Status read;
    const AttachmentObject* object;
    AttachmentState want;
    const char* text;
  } kCases[] = {
      {"the read fails", NotFound("not there"), nullptr, AttachmentState::kWaiting,
       "volume vol-1 has GET error for volume attachment csi-a: not there"},
      {"deleted", OkStatus(), nullptr, AttachmentState::kFailed,
       "volume attachment has been deleted"},
      {"being deleted", OkStatus(), &going, AttachmentState::kFailed,
       "volume attachment is being deleted"},
      {"an error", OkStatus(), &failed, AttachmentState::kFailed, "no such disk"},
      {"not attached", OkStatus(), &waiting, AttachmentState::kWaiting,
       "volume vol-1 is not attached for volume attachment csi-a"},
      {"attached", OkStatus(), &attached, AttachmentState::kReady, ""},
      {"the node is full", OkStatus(), &full, AttachmentState::kFailed, "no place"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Attachment read =
        ReadAttachment({.name = "csi-a", .handle = "vol-1", .read = c.read, .object = c.object});
    EXPECT_EQ(read.state, c.want);
    EXPECT_EQ(read.text, c.text);
    EXPECT_EQ(read.limit_reached, c.object == &full);
    EXPECT_EQ(read.publish_context.size(), c.want == AttachmentState::kReady ? 1u : 0u);
  }
}

TEST(CsiAttachment, AFullNodeRejectsThePodIfItsDriverCountsAgain) {
  DriverObject driver;
  const Attachment full{.state = AttachmentState::kFailed, .limit_reached = true};
  EXPECT_FALSE(RejectsPod(full, nullptr));
  EXPECT_FALSE(RejectsPod(full, &driver));
  driver.mutable_spec()->set_node_allocatable_update_period_seconds(10);
  EXPECT_TRUE(RejectsPod(full, &driver));
  EXPECT_FALSE(RejectsPod({.state = AttachmentState::kFailed}, &driver));
  EXPECT_EQ(LimitMessage("unmounted volumes=[a]"),
            "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[a]");
  EXPECT_TRUE(IsAttached({"a", "b"}, "b"));
  EXPECT_FALSE(IsAttached({"a"}, "b"));
}

TEST(CsiDriverObject, AMissingObjectMeansDefaults) {
  EXPECT_TRUE(NeedsAttachment(nullptr));
  EXPECT_FALSE(WantsPodInfo(nullptr));
  EXPECT_FALSE(WantsRepublish(nullptr));
  EXPECT_FALSE(SupportsSeLinuxMount(nullptr));
  EXPECT_EQ(FsGroupPolicyOf(nullptr), FsGroupPolicy::kReadWriteOnceWithFsType);
  EXPECT_TRUE(TokensOf(nullptr).empty());
  EXPECT_EQ(AllocatablePeriod(nullptr), std::nullopt);
  EXPECT_TRUE(CheckLifecycle(nullptr, "d", Lifecycle::kPersistent).ok());
  EXPECT_EQ(Message(CheckLifecycle(nullptr, "d", Lifecycle::kEphemeral)),
            "volume mode \"Ephemeral\" not supported by driver d (no CSIDriver object)");
}

TEST(CsiDriverObject, EachSettingIsRead) {
  DriverObject driver;
  auto& spec = *driver.mutable_spec();
  EXPECT_TRUE(NeedsAttachment(&driver));
  spec.set_attach_required(false);
  spec.set_pod_info_on_mount(true);
  spec.set_requires_republish(true);
  spec.set_se_linux_mount(true);
  spec.set_fs_group_policy("File");
  spec.add_token_requests()->set_expiration_seconds(600);
  spec.add_token_requests()->set_audience("vault");
  EXPECT_FALSE(NeedsAttachment(&driver));
  EXPECT_TRUE(WantsPodInfo(&driver));
  EXPECT_TRUE(WantsRepublish(&driver));
  EXPECT_TRUE(SupportsSeLinuxMount(&driver));
  EXPECT_EQ(FsGroupPolicyOf(&driver), FsGroupPolicy::kFile);
  EXPECT_EQ(TokensOf(&driver), (std::vector<TokenOrder>{{"", 600}, {"vault", std::nullopt}}));
  EXPECT_EQ(TokenPlaceOf(&driver), TokenPlace::kVolumeContext);
  spec.set_service_account_token_in_secrets(true);
  EXPECT_EQ(TokenPlaceOf(&driver), TokenPlace::kSecrets);
  spec.set_fs_group_policy("None");
  EXPECT_EQ(FsGroupPolicyOf(&driver), FsGroupPolicy::kNone);
}

TEST(CsiDriverObject, LifecyclesAreThoseThatItLists) {
  DriverObject driver;
  EXPECT_TRUE(CheckLifecycle(&driver, "d", Lifecycle::kPersistent).ok());
  EXPECT_EQ(Message(CheckLifecycle(&driver, "d", Lifecycle::kEphemeral)),
            "volume mode \"Ephemeral\" not supported by driver d (only supports [\"Persistent\"])");
  driver.mutable_spec()->add_volume_lifecycle_modes("Ephemeral");
  EXPECT_TRUE(CheckLifecycle(&driver, "d", Lifecycle::kEphemeral).ok());
  EXPECT_FALSE(CheckLifecycle(&driver, "d", Lifecycle::kPersistent).ok());
}

TEST(CsiVolumeStats, UnitsAreReadAndNoUsageIsAnError) {
  ::csi::v1::NodeGetVolumeStatsResponse response;
  EXPECT_EQ(Message(ReadVolumeStats(response).status()),
            "failed to get usage from response. usage is nil");
  auto& bytes = *response.add_usage();
  bytes.set_unit(::csi::v1::VolumeUsage::BYTES);
  bytes.set_available(-1);
  bytes.set_total(10);
  bytes.set_used(4);
  auto& inodes = *response.add_usage();
  inodes.set_unit(::csi::v1::VolumeUsage::INODES);
  inodes.set_total(7);
  response.add_usage()->set_total(99);
  response.mutable_volume_condition()->set_abnormal(true);
  response.mutable_volume_condition()->set_message("bad sectors");
  const auto stats = ReadVolumeStats(response);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(*stats, (VolumeStats{.bytes = VolumeUsage{0, 10, 4},
                                 .inodes = VolumeUsage{0, 7, 0},
                                 .abnormal = "bad sectors"}));
}

}  // namespace
}  // namespace splitlet::csi
