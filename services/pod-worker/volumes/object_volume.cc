#include "services/pod-worker/volumes/object_volume.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/fs/path.h"
#include "services/pod-worker/volumes/atomic_writer.h"
#include "services/pod-worker/volumes/empty_dir.h"
#include "services/pod-worker/volumes/payload.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kMountPointMode = 0755;

constexpr ObjectVolume::Kind kObjectKinds[] = {
    {"kubernetes.io~configmap", [](const VolumeSource& s) { return s.has_config_map(); }, false},
    {"kubernetes.io~secret", [](const VolumeSource& s) { return s.has_secret(); }, true},
    {"kubernetes.io~downward-api", [](const VolumeSource& s) { return s.has_downward_api(); },
     true},
    {"kubernetes.io~projected", [](const VolumeSource& s) { return s.has_projected(); }, true},
};

/// The names of a container path, from its root. ".." does not lead above the root.
std::vector<std::string> StepsTo(std::string_view path) {
  std::vector<std::string> steps;
  for (auto& name : fs::NamesOf(path)) {
    if (name != "..")
      steps.push_back(std::move(name));
    else if (!steps.empty())
      steps.pop_back();
  }
  return steps;
}

/// Adds the mount points that other volumes of the container need inside this read-only volume, as
/// paths below it. The pod's texts are not trusted: no path leads out of the volume.
void AddNested(const kube::Container& container, const std::string& volume,
               std::vector<std::string>& nested) {
  for (const auto& mount : container.volume_mounts()) {
    if (mount.name() != volume) continue;
    const auto root = StepsTo(mount.mount_path());
    for (const auto& other : container.volume_mounts()) {
      const auto steps = StepsTo(other.mount_path());
      const auto [at, below] = std::ranges::mismatch(root, steps);
      if (at == root.end() && below != steps.end())
        nested.push_back(fmt::format("{}", fmt::join(below, steps.end(), "/")));
    }
  }
}

}  // namespace

std::span<const ObjectVolume::Kind> ObjectVolume::Kinds() { return kObjectKinds; }

SetUpResult ObjectVolume::SetUp(const VolumeSpec& spec, const VolumeInput& in,
                                const VolumePlace& place) {
  const kube::Volume& volume = spec.volume;
  const std::string& path = place.path;
  auto payload = MakePayload(volume, {in.pod, deps_.node, in.objects});
  // A container restarts with the old files while the API server is away.
  const bool unknown = payload.status().code() == StatusCode::kUnavailable;
  if (unknown && in.for_start && IsPublished(deps_.files, path)) return Progress::kDone;
  if (!payload.ok()) return payload.status();
  const FsGroup group = FsGroupOf(in.pod);
  const int64_t bytes = TmpfsBytes(in.pod, deps_.node.allocatable.memory_bytes, 0);
  const Status made = kind_.in_memory ? deps_.dirs.EnsureTmpfs(path, bytes, group)
                                      : deps_.dirs.EnsureOnDisk(path, group);
  if (!made.ok()) return made;
  const auto give = [this, &group, &payload](const std::string& set) {
    for (const auto& [name, file] : *payload)
      if (file.user) deps_.dirs.GiveToUser(fmt::format("{}/{}", set, name), *file.user);
    if (group) deps_.dirs.GiveToGroup(set, {.group = *group, .read_only = true});
  };
  const Status published = Publish(path, *payload, {deps_.files, deps_.clock.WallNow(), give});
  if (!published.ok()) return published;
  std::vector<std::string> nested;
  for (const auto& container : in.pod.spec().init_containers())
    AddNested(container, volume.name(), nested);
  for (const auto& container : in.pod.spec().containers())
    AddNested(container, volume.name(), nested);
  for (const auto& below : nested) {
    if (payload->contains(below)) continue;  // a file, for the mount of another file
    RETURN_IF_ERROR(deps_.files.MakeDirs(fmt::format("{}/{}", path, below), kMountPointMode),
                    "make mount point {}", below);
  }
  return Progress::kDone;
}

StatusOr<Progress> ObjectVolume::TearDown(const VolumePlace& place) {
  return Done(deps_.dirs.Remove(place.path));
}

}  // namespace splitlet::pod_worker
