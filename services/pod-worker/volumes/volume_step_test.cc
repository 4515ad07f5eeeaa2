#include "services/pod-worker/volumes/volume_step.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace splitlet::pod_worker
