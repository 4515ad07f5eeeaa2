#include "services/pod-worker/volumes/volume_step.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "services/pod-worker/volumes/volume_manager.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(VolumeStep, EachReadsInTheEventAsAKubeletsDoes) {
  const struct {
    VolumeStep step;
    const char *reason, *message;
  } kCases[] = {
      {VolumeStep::kProcessClaim, "FailedMount",
       "Unable to attach or mount volumes: unmounted volumes=[disk], unattached volumes=[], failed "
       "to process volumes=[disk]: no"},
      {VolumeStep::kCheckNodeAffinity, "FailedMount",
       "MountVolume.NodeAffinity check failed for volume \"disk\" : no"},
      {VolumeStep::kFindPlugin, "FailedMount",
       "MountVolume.FindPluginBySpec failed for volume \"disk\" : no"},
      {VolumeStep::kCheckMountOptions, "FailedMount",
       "MountVolume.MountOptionSupport check failed for volume \"disk\" : no"},
      {VolumeStep::kMakeMounter, "FailedMount",
       "MountVolume.NewMounter initialization failed for volume \"disk\" : no"},
      {VolumeStep::kWaitForAttach, "FailedMount",
       "MountVolume.WaitForAttach failed for volume \"disk\" : no"},
      {VolumeStep::kMountDevice, "FailedMount",
       "MountVolume.MountDevice failed for volume \"disk\" : no"},
      {VolumeStep::kSetUp, "FailedMount", "MountVolume.SetUp failed for volume \"disk\" : no"},
      {VolumeStep::kFindMapper, "FailedMapVolume",
       "MapVolume.FindMapperPluginBySpec failed for volume \"disk\" : no"},
      {VolumeStep::kSetUpDevice, "FailedMapVolume",
       "MapVolume.SetUpDevice failed for volume \"disk\" : no"},
      {VolumeStep::kMapDevice, "FailedMapVolume",
       "MapVolume.MapBlockVolume failed for volume \"disk\" : no"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.message);
    EXPECT_STREQ(EventReasonOf(c.step), c.reason);
    const Status error = EventErrorOf({c.step, "disk", NotFound("no")});
    EXPECT_EQ(Message(error), c.message);
    EXPECT_EQ(error.code(), StatusCode::kNotFound);
  }
}

/// Its errors read like the failure of another step.
class MisleadingObjects final : public ObjectSource {
 public:
  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName&) const override { return error_; }
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName&) const override { return error_; }
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string&) const override {
    return error_;
  }
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName&) const override { return error_; }
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string&) const override {
    return error_;
  }
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string&) const override {
    return error_;
  }

 private:
  const Status error_ = NotFound("MapVolume.SetUpDevice failed, says a server");
};

TEST(VolumeStep, MakesTheEventWhateverTheTextOfTheError) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  fs::FakeMounts mounts(files);
  fs::FakeOwnership ownership(files);
  const NodeInfo node{.name = "node-1", .pod_roots = {"/state/pods", "/kubelet"}};
  FakeLogSink sink;
  const Log log(sink);
  prometheus::Registry registry;
  Metrics metrics(registry);
  VolumeManager manager({files, mounts, ownership, clock, node, log, metrics});
  const MisleadingObjects objects;
  const auto pod = PodWithVolumes("[{name: v, configMap: {name: settings}}]", {"v"});
  const auto place = node::FindPodPlace(files, node.pod_roots, "uid-web").value();
  std::vector<std::string> failures;
  const auto record = [&failures](const char* reason, const Status& why) {
    failures.push_back(fmt::format("{}: {}", reason, Message(why)));
  };
  EXPECT_FALSE(manager.SetUp({pod, &objects}, place, record).ok());
  manager.Refresh({pod, &objects}, place, record);
  const std::string event =
      "FailedMount: MountVolume.SetUp failed for volume \"v\" : MapVolume.SetUpDevice failed, says "
      "a server";
  EXPECT_EQ(failures, (std::vector<std::string>{event, event}));
}

}  // namespace
}  // namespace splitlet::pod_worker
