#include "services/pod-worker/volumes/local_device.h"

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/path.h"
#include "libs/kube/names.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kDeviceFolderMode = 0750;

Status CheckDevice(const std::string& device, const StatusOr<fs::FileInfo>& there) {
  if (kube::HasParentStep(device))
    return FailedPrecondition("invalid path: {} must not contain '..'", device);
  if (!there.ok()) return FailedPrecondition("{}: {}", device, Message(there.status()));
  if (there->kind == fs::FileInfo::Kind::kBlockDevice) return OkStatus();
  return FailedPrecondition("{} is not a block device", device);
}

}  // namespace

std::string LocalDevice::SharedDir(const VolumePlace& place) const {
  return fmt::format("{}/{}/volumeDevices/{}", place.plugins_dir, deps_.folder,
                     fs::NameOf(place.device));
}

Status LocalDevice::Link(const std::string& device, const std::string& path) const {
  const auto leads_to = deps_.files.ReadSymlink(path);
  if (leads_to.ok() && *leads_to == device) return OkStatus();
  RETURN_IF_ERROR(deps_.files.Remove(path), "remove the file in its place");
  return Annotate(deps_.files.MakeSymlink(device, path), "link");
}

SetUpResult LocalDevice::Map(const VolumeSpec& spec, const VolumePlace& place) {
  const std::string& device = spec.source()->local().path();
  const Status usable = CheckDevice(device, deps_.files.Stat(device, true));
  if (!usable.ok()) return {VolumeStep::kSetUpDevice, usable};
  const std::string shared = SharedDir(place);
  RETURN_IF_ERROR(deps_.files.MakeDirs(fs::ParentOf(place.device), kDeviceFolderMode),
                  "make directory");
  RETURN_IF_ERROR(deps_.files.MakeDirs(shared, kDeviceFolderMode), "make directory");
  FAIL_POINT("pod-worker.map-device.before");
  RETURN_IF_ERROR(Link(device, place.device), "{}", place.device);
  FAIL_POINT("pod-worker.map-device.linked");
  RETURN_IF_ERROR(
      deps_.mounts.BindWithin(
          {.root = "/", .path = device, .target = fmt::format("{}/{}", shared, place.pod_uid)}),
      "bind {}", device);
  FAIL_POINT("pod-worker.map-device.after");
  return Progress::kDone;
}

StatusOr<Progress> LocalDevice::Unmap(const VolumePlace& place) {
  const std::string shared = SharedDir(place);
  const std::string bound = fmt::format("{}/{}", shared, place.pod_uid);
  FAIL_POINT("pod-worker.unmap-device.before");
  RETURN_IF_ERROR(deps_.mounts.Unmount(bound), "unmount {}", bound);
  RETURN_IF_ERROR(deps_.files.Remove(bound), "remove {}", bound);
  FAIL_POINT("pod-worker.unmap-device.after");
  // Other pods may have files in the directory.
  const auto others = deps_.files.List(shared);
  if (others.ok() && others->empty())
    RETURN_IF_ERROR(deps_.files.Remove(shared), "remove {}", shared);
  return Done(Annotate(deps_.files.Remove(place.device), "remove its link"));
}

}  // namespace splitlet::pod_worker
