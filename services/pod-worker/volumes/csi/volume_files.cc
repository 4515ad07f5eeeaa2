#include "services/pod-worker/volumes/csi/volume_files.h"

#include "libs/base/fail_point.h"
#include "libs/csi/names.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kCsiDirMode = 0750;
constexpr uint64_t kMaxVolumeData = uint64_t{64} << 10;
constexpr uint32_t kCsiGroupMode =
    02770;  // the least mode of a directory that was given to a group

std::string DataFileOf(const std::string& directory) {
  return directory + "/" + std::string(csi::kDataFile);
}

Status SaveVolumeData(const CsiDisk& disk, const std::string& directory,
                      const csi::VolumeData& data, csi::DataPlace place) {
  FAIL_POINT("pod-worker.csi-save-data.before");
  RETURN_IF_ERROR(
      disk.files.Replace(DataFileOf(directory), csi::WriteVolumeData(data, place), {.fsync = true}),
      "kubernetes.io/csi: failed to save volume info data");
  FAIL_POINT("pod-worker.csi-save-data.after");
  return OkStatus();
}

}  // namespace

std::string GlobalMountOf(const std::string& staging_dir) { return staging_dir + "/globalmount"; }

Status PrepareStaging(const CsiDisk& disk, const std::string& staging_dir,
                      const csi::VolumeData& data) {
  const std::string mount_point = GlobalMountOf(staging_dir);
  const Status made = disk.files.MakeDirs(mount_point, kCsiDirMode);
  if (!made.ok())
    return MakeStatus(made.code(),
                      "kubernetes.io/csi: attacher.MountDevice failed to create dir \"{}\":  {}",
                      mount_point, Message(made));
  return SaveVolumeData(disk, staging_dir, data, csi::DataPlace::kStaging);
}

Status PreparePublish(const CsiDisk& disk, const std::string& directory,
                      const csi::VolumeData& data) {
  const Status made = disk.files.MakeDirs(directory, kCsiDirMode);
  if (!made.ok())
    return MakeStatus(made.code(),
                      "kubernetes.io/csi: mounter.SetUpAt failed to create dir \"{}\":  {}",
                      directory, Message(made));
  return SaveVolumeData(disk, directory, data, csi::DataPlace::kPod);
}

StatusOr<std::optional<csi::VolumeData>> ReadVolumeData(const CsiDisk& disk,
                                                        const std::string& directory,
                                                        csi::DataPlace place) {
  const std::string path = DataFileOf(directory);
  const auto text = disk.files.Read(path, kMaxVolumeData);
  if (text.status().code() == StatusCode::kNotFound) return std::optional<csi::VolumeData>();
  if (!text.ok())
    return MakeStatus(text.status().code(),
                      "kubernetes.io/csi: failed to open volume data file [{}]: {}", path,
                      Message(text.status()));
  auto data = csi::ParseVolumeData(*text, place);
  if (!data.ok())
    return MakeStatus(data.status().code(),
                      "kubernetes.io/csi: failed to parse volume data file [{}]: {}", path,
                      Message(data.status()));
  return std::optional<csi::VolumeData>(*std::move(data));
}

Status RemoveVolumeDir(const CsiDisk& disk, const std::string& directory,
                       const std::string& mount_point) {
  const auto mounted = disk.mounts.IsMountPoint(mount_point);
  if (!mounted.ok() && mounted.status().code() != StatusCode::kNotFound)
    return Annotate(mounted.status(), "read the kernel's list of mounts");
  if (mounted.ok() && *mounted) return FailedPrecondition("{} is still mounted", mount_point);
  FAIL_POINT("pod-worker.csi-remove-dir.before");
  RETURN_IF_ERROR(disk.files.Remove(mount_point), "remove {}", mount_point);
  RETURN_IF_ERROR(disk.files.Remove(DataFileOf(directory)), "remove the file in {}", directory);
  RETURN_IF_ERROR(disk.files.Remove(directory), "remove {}", directory);
  FAIL_POINT("pod-worker.csi-remove-dir.after");
  return OkStatus();
}

void GiveVolumeToGroup(const CsiDisk& disk, const std::string& target, uint32_t group,
                       bool only_if_other_group) {
  if (only_if_other_group && disk.group_of) {
    const auto has = disk.group_of(target);
    if (has.ok() && has->group == group && (has->mode & kCsiGroupMode) == kCsiGroupMode) return;
  }
  disk.dirs.GiveToGroup(target, {.group = group});
}

}  // namespace splitlet::pod_worker
