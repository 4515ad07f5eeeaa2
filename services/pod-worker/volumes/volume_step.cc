#include "services/pod-worker/volumes/volume_step.h"

namespace splitlet::pod_worker {

namespace {

std::string MessageOf(const VolumeFailure& failure) {
  const auto failed = [&failure](std::string_view step) {
    return fmt::format("{} failed for volume \"{}\" : {}", step, failure.volume,
                       Message(failure.why));
  };
  switch (failure.step) {
    case VolumeStep::kProcessClaim:
      return fmt::format(
          "Unable to attach or mount volumes: unmounted volumes=[{0}], unattached volumes=[], "
          "failed to process volumes=[{0}]: {1}",
          failure.volume, Message(failure.why));
    case VolumeStep::kCheckNodeAffinity: return failed("MountVolume.NodeAffinity check");
    case VolumeStep::kFindPlugin: return failed("MountVolume.FindPluginBySpec");
    case VolumeStep::kCheckMountOptions: return failed("MountVolume.MountOptionSupport check");
    case VolumeStep::kMakeMounter: return failed("MountVolume.NewMounter initialization");
    case VolumeStep::kWaitForAttach: return failed("MountVolume.WaitForAttach");
    case VolumeStep::kMountDevice: return failed("MountVolume.MountDevice");
    case VolumeStep::kSetUp: return failed("MountVolume.SetUp");
    case VolumeStep::kFindMapper: return failed("MapVolume.FindMapperPluginBySpec");
    case VolumeStep::kSetUpDevice: return failed("MapVolume.SetUpDevice");
    case VolumeStep::kMapDevice: return failed("MapVolume.MapBlockVolume");
  }
  return Message(failure.why);
}

}  // namespace

const char* EventReasonOf(VolumeStep step) {
  return step >= VolumeStep::kFindMapper ? "FailedMapVolume" : "FailedMount";
}

Status EventErrorOf(const VolumeFailure& failure) {
  return MakeStatus(failure.why.code(), MessageOf(failure));
}

}  // namespace splitlet::pod_worker
