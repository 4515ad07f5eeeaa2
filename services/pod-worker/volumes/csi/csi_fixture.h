#pragma once

/// A node with the CSI plugin, a driver and an API server in memory, on virtual time, for tests.
/// Threads: one.
/// Errors:  of the test.

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "csi/v1/csi.pb.h"
#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/base/fail_point.h"
#include "libs/csi/fake_driver_calls.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "services/pod-worker/volumes/csi/csi_volumes.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {

class FakeCsiObjects final : public CsiObjects {
 public:
  std::map<std::string, std::shared_ptr<CsiDriverObject>> drivers;
  std::shared_ptr<NodeObject> node = std::make_shared<NodeObject>();  // null: cannot be read
  std::map<std::string, std::shared_ptr<VolumeAttachment>> attachments;
  std::map<std::string, std::shared_ptr<Secret>> secrets;  // by "<namespace>/<name>"
  std::vector<std::string> reads;
  bool listed = true;

  StatusOr<ObjectPtr<CsiDriverObject>> FindDriver(const std::string& name) const override {
    if (!listed) return Unavailable("not listed");
    const auto found = drivers.find(name);
    return found == drivers.end() ? ObjectPtr<CsiDriverObject>() : found->second;
  }
  void ReadNode(Got<NodeObject> done) override {
    reads.emplace_back("node");
    if (node == nullptr) return done(Unavailable("API server away"));
    done(ObjectPtr<NodeObject>(node));
  }
  void ReadAttachment(const std::string& name, Got<VolumeAttachment> done) override {
    reads.emplace_back("attachment");
    const auto found = attachments.find(name);
    if (found == attachments.end()) return done(NotFound("no such object"));
    done(ObjectPtr<VolumeAttachment>(found->second));
  }
  void ReadSecret(const ObjectName& name, Got<Secret> done) override {
    const auto found = secrets.find(name.name_space + "/" + name.name);
    if (found == secrets.end()) return done(NotFound("no such secret"));
    done(ObjectPtr<Secret>(found->second));
  }
  void GetToken(const TokenOwner& pod, const TokenWish& wish,
                std::function<void(StatusOr<BoundToken>)> done) override {
    done(BoundToken{
        fmt::format("{}/{}/{}/{}", pod.service_account, pod.uid, wish.audience, wish.seconds),
        WallTime{std::chrono::seconds{60}}});
  }
};

class CsiNode : public testing::Test {
 protected:
  inline static const std::string kDriver = "disk.csi.example.com";
  inline static const std::string kHandle = "vol-1";
  inline static const std::string kRoot = "/kubelet";
  inline static const std::string kName = csi::UniqueName(kDriver, kHandle);
  inline static const std::string kSource =
      "csi: {driver: disk.csi.example.com, volumeHandle: vol-1, fsType: ext4, "
      "volumeAttributes: {size: big}}, accessModes: [ReadWriteOnce]";

  CsiNode() {
    driver.SetTraits({.name = kDriver, .capabilities = {csi::NodeCapability::kStageUnstageVolume}});
    Register();
    Object().mutable_spec()->set_attach_required(false);
    objects.node->mutable_metadata()->set_name("node-1");
    Begin();
  }
  ~CsiNode() override { FailPoints::SetCurrent(nullptr); }

  CsiDriverObject& Object() {
    auto& object = objects.drivers[kDriver];
    if (object == nullptr) object = std::make_shared<CsiDriverObject>();
    return *object;
  }
  void Register() { drivers.registered[kDriver] = calls; }
  /// Starts the plugin, as a process that starts. The disk, the mounts and the driver stay.
  void Begin(bool pods_known = true) {
    plugin.reset();
    loops.push_back(std::make_unique<exec::FakeLoop>(loop, loop.NewOwner("pod-worker")));
    strands.push_back(std::make_unique<exec::FakeStrands>(*loops.back()));
    plugin = std::make_unique<CsiVolumes>(
        CsiDeps{.env = {clock, *loops.back(), *strands.back(), log, metrics},
                .disk = {files, mounts, dirs, group_of},
                .drivers = drivers,
                .objects = objects,
                .node_name = "node-1",
                .paths = csi::Paths(kRoot)},
        kRoot,
        CsiVolumes::Out{.wake = [this](const std::string& uid) { woken.insert(uid); },
                        .in_use = [this](const VolumesInUse& now) { in_use = now; }});
    plugin->volumes().Start();
    if (pods_known) plugin->volumes().OnPodsKnown();
    loop.RunUntilIdle();
  }

  VolumePlace PlaceFor(const std::string& uid, const std::string& volume) const {
    return {.path = fmt::format("{}/pods/{}/volumes/kubernetes.io~csi/{}", kRoot, uid, volume),
            .plugins_dir = kRoot + "/plugins",
            .pod_uid = uid};
  }
  std::string Target(const std::string& uid, const std::string& volume = "disk") const {
    return PlaceFor(uid, volume).path + "/mount";
  }
  static std::string StagingDir() { return csi::Paths(kRoot).StagingDir(kDriver, kHandle); }

  static std::string TextOf(const VolumeSpec& spec, const SetUpResult& result) {
    if (result.ok()) return *result == Progress::kDone ? "done" : "under way";
    return Message(
        EventErrorOf({result.step().value_or(VolumeStep::kSetUp), spec.name(), result.status()}));
  }
  kube::Pod PodOf(const std::string& uid, const std::string& volume) const {
    kube::Pod pod = PodWithVolumes("[" + volume + "]", {"v"});
    pod.mutable_metadata()->set_uid(uid);
    pod.mutable_metadata()->set_name(uid.substr(4));
    pod.mutable_spec()->set_service_account_name("app");
    if (fs_group) pod.mutable_spec()->mutable_security_context()->set_fs_group(*fs_group);
    return pod;
  }
  /// Asks for the persistent volume, lets everything run, and asks again: "done", "under way", or
  /// the text of the event.
  std::string SetUpDisk(const std::string& uid, const std::string& source = kSource,
                        bool for_start = true) {
    const auto claimed = ClaimOf(read_only);
    const auto spec = BehindClaim(source, claimed);
    const auto pod = PodOf(uid, "{name: v, emptyDir: {}}");
    EXPECT_TRUE(plugin->Takes(spec));
    return Ask(spec, pod, PlaceFor(uid, "disk"), for_start);
  }
  std::string SetUpInline(const std::string& uid) {
    const auto pod = PodOf(uid, "{name: v, csi: {driver: disk.csi.example.com}}");
    const VolumeSpec spec{pod.spec().volumes(0)};
    EXPECT_TRUE(plugin->Takes(spec));
    return Ask(spec, pod, PlaceFor(uid, "v"), true);
  }
  std::string Ask(const VolumeSpec& spec, const kube::Pod& pod, const VolumePlace& place,
                  bool for_start) {
    const auto first = plugin->SetUp(spec, {pod, nullptr, for_start}, place);
    loop.RunUntilIdle();
    if (!first.ok()) return TextOf(spec, first);
    const auto result = plugin->SetUp(spec, {pod, nullptr, for_start}, place);
    loop.RunUntilIdle();
    return TextOf(spec, result);
  }
  /// The end of a pod, as VolumeManager carries it out: "done", "under way" or the error.
  std::string TakeDown(const std::string& uid, const std::string& volume = "disk") {
    StatusOr<Progress> gone = Progress::kUnderWay;
    for (int i = 0; i < 3 && gone.ok() && *gone == Progress::kUnderWay; ++i) {
      gone = plugin->Release({.path = "", .pod_uid = uid});
      loop.RunUntilIdle();
    }
    if (!gone.ok() || *gone == Progress::kUnderWay) return "under way";
    gone = Progress::kUnderWay;
    for (int i = 0; i < 3 && gone.ok() && *gone == Progress::kUnderWay; ++i) {
      gone = plugin->TearDown(PlaceFor(uid, volume));
      loop.RunUntilIdle();
    }
    if (!gone.ok()) return Message(gone.status());
    return *gone == Progress::kDone ? "done" : "under way";
  }
  bool IsThere(const std::string& path) { return files.Stat(path, false).ok(); }
  std::string ContentOf(const std::string& path) { return files.Read(path, 1 << 16).value_or(""); }

  /// The controller attaches the volume: the Node and the VolumeAttachment show it.
  VolumeAttachment& Attach() {
    objects.node->mutable_status()->add_volumes_attached()->set_name(kName);
    auto& attachment = objects.attachments[csi::AttachmentName(kHandle, kDriver, "node-1")];
    attachment = std::make_shared<VolumeAttachment>();
    attachment->mutable_status()->set_attached(true);
    (*attachment->mutable_status()->mutable_attachment_metadata())["path"] = "/dev/x";
    return *attachment;
  }
  void ShowNode(std::set<std::string> used, std::set<std::string> attached) {
    plugin->volumes().OnNode({std::move(used), std::move(attached)});
    loop.RunUntilIdle();
  }
  Status Mount(const std::string& target) {
    RETURN_IF_ERROR(files.MakeDirs(target, 0755), "make target");
    return mounts.Mount({.type = "disk", .path = target});
  }

  FakeClock clock;
  exec::Scheduler loop{clock};  // of all starts of the process
  fs::FakeFileSystem files{clock};
  fs::FakeMounts mounts{files};
  fs::FakeOwnership ownership{files};
  FakeLogSink sink;
  const Log log{sink};
  prometheus::Registry metrics;
  VolumeDirs dirs{{files, mounts, ownership, log}};
  fs::GroupReader group_of = [](const std::string&) { return NotFound("no such path"); };
  bool stays_mounted = false;  // the driver says that it unmounted, and did not
  csi::FakeDriver driver{
      {},
      {.publish = [this](const auto& request) { return Mount(request.target_path()); },
       .unpublish =
           [this](const std::string& target) {
             if (stays_mounted) return OkStatus();
             RETURN_IF_ERROR(mounts.Unmount(target), "unmount");
             return files.Remove(target);
           },
       .changed = {}}};
  const std::shared_ptr<csi::FakeDriverCalls> calls =
      std::make_shared<csi::FakeDriverCalls>(driver);
  csi::FakeDrivers drivers;
  FakeCsiObjects objects;
  std::optional<int64_t> fs_group;
  bool read_only = false;
  std::set<std::string> woken;
  VolumesInUse in_use;
  // Each start has its own; a late answer may come to an earlier one.
  std::vector<std::unique_ptr<exec::FakeLoop>> loops;
  std::vector<std::unique_ptr<exec::FakeStrands>> strands;
  std::unique_ptr<CsiVolumes> plugin;
};

}  // namespace splitlet::pod_worker
