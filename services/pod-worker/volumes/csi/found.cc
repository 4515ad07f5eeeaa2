#include "services/pod-worker/volumes/csi/found.h"

#include "libs/fs/path.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kCsiBlockDir = "volumeDevices";  // among the drivers' directories

/// Names of the directories in it; none if it does not exist.
StatusOr<std::vector<std::string>> DirectoriesIn(fs::FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  const auto entries = files.List(path);
  if (entries.status().code() == StatusCode::kNotFound) return names;
  RETURN_IF_ERROR(entries, "list {}", path);
  for (const auto& entry : *entries)
    if (entry.kind == fs::FileInfo::Kind::kDirectory) names.push_back(path + "/" + entry.name);
  return names;
}

Status FindStaged(const CsiDisk& disk, const std::string& root, FoundVolumes& found) {
  ASSIGN_OR_RETURN(const auto drivers,
                   DirectoriesIn(disk.files, root + "/plugins/kubernetes.io/csi"), "drivers");
  for (const auto& driver : drivers) {
    if (fs::NameOf(driver) == kCsiBlockDir) continue;
    ASSIGN_OR_RETURN(const auto volumes, DirectoriesIn(disk.files, driver), "staged volumes");
    for (const auto& directory : volumes) {
      auto data = ReadVolumeData(disk, directory, csi::DataPlace::kStaging);
      if (!data.ok())
        found.unreadable.push_back({{}, data.status()});
      else if (*data)
        found.staged.push_back({**std::move(data), directory});
    }
  }
  return OkStatus();
}

void AddPublished(const CsiDisk& disk, const PodVolumeKey& key, const std::string& directory,
                  FoundVolumes& found) {
  auto data = ReadVolumeData(disk, directory, csi::DataPlace::kPod);
  if (data.ok() && *data) {
    found.published.push_back({key, **std::move(data), directory});
    return;
  }
  const auto mounted = disk.mounts.IsMountPoint(TargetOf(directory));
  const bool bare =
      data.ok() && (mounted.ok() ? !*mounted : mounted.status().code() == StatusCode::kNotFound);
  if (bare) return;  // killed before the driver was called
  found.unreadable.push_back(
      {key, data.ok() ? NotFound("{} has no volume data file", directory) : data.status()});
}

}  // namespace

StatusOr<FoundVolumes> FindVolumes(const CsiDisk& disk, const std::string& root_dir) {
  FoundVolumes found;
  RETURN_IF_ERROR(FindStaged(disk, root_dir, found), "staged volumes");
  ASSIGN_OR_RETURN(const auto pods, DirectoriesIn(disk.files, root_dir + "/pods"), "pods");
  for (const auto& pod : pods) {
    ASSIGN_OR_RETURN(const auto volumes,
                     DirectoriesIn(disk.files, pod + "/volumes/kubernetes.io~csi"), "volumes");
    for (const auto& directory : volumes)
      AddPublished(disk, {std::string(fs::NameOf(pod)), std::string(fs::NameOf(directory))},
                   directory, found);
  }
  return found;
}

}  // namespace splitlet::pod_worker
