#include "services/pod-worker/volumes/volume_manager.h"

#include <list>
#include <set>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/base/fail_point.h"
#include "libs/kube/static_pod.h"
#include "services/pod-worker/volumes/claim.h"
#include "services/pod-worker/volumes/empty_dir.h"
#include "services/pod-worker/volumes/host_path.h"
#include "services/pod-worker/volumes/nfs.h"
#include "services/pod-worker/volumes/object_volume.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kPodDirMode = 0750;

std::string KindOf(const kube::Volume& volume) {
  std::vector<const google::protobuf::FieldDescriptor*> set;
  const auto& source = volume.volume_source();
  source.GetReflection()->ListFields(source, &set);
  return set.empty() ? "none" : set.front()->json_name();
}

std::set<std::string> MountedNames(const kube::Pod& pod) {
  std::set<std::string> names;
  for (const auto& container : pod.spec().init_containers())
    for (const auto& mount : container.volume_mounts()) names.insert(mount.name());
  for (const auto& container : pod.spec().containers())
    for (const auto& mount : container.volume_mounts()) names.insert(mount.name());
  for (const auto& container : pod.spec().ephemeral_containers())
    for (const auto& mount : container.ephemeral_container_common().volume_mounts())
      names.insert(mount.name());
  return names;
}

Status SetUpFailed(const kube::Volume& volume, const Status& why) {
  return MakeStatus(why.code(), "MountVolume.SetUp failed for volume \"{}\" : {}", volume.name(),
                    Message(why));
}

std::string FolderOf(const VolumePlugin& plugin, const std::string& pod_dir) {
  return fmt::format("{}/volumes/{}", pod_dir, plugin.folder());
}

struct Wanted {
  const kube::Volume& volume;
  std::string path;
  VolumePlugin* plugin;
  const std::vector<std::string>& mount_options;
};

}  // namespace

VolumeManager::VolumeManager(Deps deps)
    : deps_(std::move(deps)),
      dirs_({deps_.files, deps_.mounts, deps_.ownership, deps_.log}),
      sub_paths_({deps_.files, deps_.mounts, deps_.log}) {
  plugins_.push_back(std::make_unique<HostPathVolume>(deps_.files));
  plugins_.push_back(std::make_unique<EmptyDirVolume>(dirs_, deps_.node.allocatable.memory_bytes));
  plugins_.push_back(std::make_unique<NfsVolume>(NfsVolume::Deps{deps_.files, deps_.run}));
  for (const auto& kind : ObjectVolume::Kinds())
    plugins_.push_back(std::make_unique<ObjectVolume>(
        kind, ObjectVolume::Deps{deps_.files, dirs_, deps_.clock, deps_.node}));
}

VolumePlugin* VolumeManager::Find(const kube::Volume& volume) const {
  for (const auto& plugin : plugins_)
    if (plugin->Takes(volume.volume_source())) return plugin.get();
  return nullptr;
}

struct VolumeManager::Resolved {
  kube::Volume volume;
  std::vector<std::string> mount_options = {};
};

StatusOr<VolumeManager::Resolved> VolumeManager::Resolve(const kube::Volume& volume,
                                                         const VolumeInput& in) const {
  const std::string claim = ClaimNameOf(volume, in.pod);
  if (claim.empty()) return Resolved{volume};
  StatusOr<ObjectPtr<PersistentVolume>> found = Unavailable("this node has no objects");
  if (in.objects != nullptr) found = VolumeOfClaim(volume, in.pod, *in.objects);
  if (!found.ok())
    return MakeStatus(found.status().code(),
                      "Unable to attach or mount volumes: unmounted volumes=[{0}], unattached "
                      "volumes=[], failed to process volumes=[{0}]: {1}",
                      volume.name(), Message(found.status()));
  auto real = AsVolumeOfPod(**found, deps_.node.name);
  if (real.ok() && !in.objects->MayUse({in.pod.metadata().namespace_(), claim}))
    return SetUpFailed(*real, FailedPrecondition("volume uses the ReadWriteOncePod access mode and "
                                                 "is already in use by another pod"));
  if (!real.ok()) return real.status();
  const auto& options = (*found)->spec().mount_options();
  return Resolved{*std::move(real), {options.begin(), options.end()}};
}

StatusOr<std::string> VolumeManager::PathOf(const kube::Volume& volume, const VolumePlugin& plugin,
                                            const std::string& pod_dir) const {
  if (plugin.folder().empty()) return plugin.HostPath(volume.volume_source());
  return fmt::format("{}/{}", FolderOf(plugin, pod_dir), volume.name());
}

StatusOr<VolumePaths> VolumeManager::SetUp(const VolumeInput& in, const node::PodPlace& place) {
  const std::set<std::string> mounted = MountedNames(in.pod);
  VolumePaths paths;
  std::list<Resolved> made_of;
  std::vector<Wanted> wanted;
  for (const auto& volume : in.pod.spec().volumes()) {
    if (!mounted.contains(volume.name()) || volume.volume_source().has_image()) continue;
    auto resolved = Resolve(volume, in);
    if (!resolved.ok()) return resolved.status();
    const Resolved& found = made_of.emplace_back(*std::move(resolved));
    const kube::Volume& real = found.volume;
    VolumePlugin* const plugin = Find(real);
    if (plugin == nullptr)
      return InvalidArgument(
          "Unable to attach or mount volumes: volume type \"{}\" is not supported", KindOf(real));
    auto path = PathOf(real, *plugin, place.path);
    if (!path.ok()) return SetUpFailed(real, path.status());
    paths[volume.name()] = *path;
    wanted.push_back({real, *std::move(path), plugin, found.mount_options});
  }
  FAIL_POINT("pod-worker.ensure-volumes.before");
  const std::string& uid = in.pod.metadata().uid();
  if (!place.ours) {
    const Status marked = MarkPod(uid, {place.path, kube::SourceOf(in.pod)});
    if (!marked.ok()) return marked;
  }
  RETURN_IF_ERROR(deps_.files.MakeDirs(place.path, kPodDirMode),
                  "error making pod data directories");
  Status first;
  for (const auto& [volume, path, plugin, options] : wanted) {
    const VolumeInput for_start{in.pod, in.objects, true, options};
    Status made = plugin->folder().empty()
                      ? OkStatus()
                      : deps_.files.MakeDirs(FolderOf(*plugin, place.path), kPodDirMode);
    if (made.ok()) made = plugin->SetUp(volume, for_start, path);
    if (first.ok() && !made.ok()) first = SetUpFailed(volume, made);
  }
  if (!first.ok()) return first;
  FAIL_POINT("pod-worker.ensure-volumes.after");
  return paths;
}

Status VolumeManager::Refresh(const VolumeInput& in, const node::PodPlace& place) {
  std::set<std::string> mounted;
  for (const auto& volume : in.pod.spec().volumes()) {
    VolumePlugin* const plugin = Find(volume);
    if (plugin == nullptr || !plugin->refreshes()) continue;
    if (mounted.empty()) mounted = MountedNames(in.pod);
    if (!mounted.contains(volume.name())) continue;
    ASSIGN_OR_RETURN(const auto path, PathOf(volume, *plugin, place.path), "{}", volume.name());
    const Status made = plugin->SetUp(volume, in, path);
    if (!made.ok()) return SetUpFailed(volume, made);
  }
  return OkStatus();
}

Status VolumeManager::MarkPod(const std::string& uid, const node::PodMark& mark) {
  FAIL_POINT("pod-worker.mark-pod.before");
  RETURN_IF_ERROR(node::MarkPodPlace(deps_.files, deps_.node.pod_roots, uid, mark),
                  "error making pod data directories");
  FAIL_POINT("pod-worker.mark-pod.after");
  return OkStatus();
}

Status VolumeManager::TearDown(const std::string& uid, const std::string& source) {
  ASSIGN_OR_RETURN(const auto place, node::FindPodPlace(deps_.files, deps_.node.pod_roots, uid),
                   "pod directory");
  if (!place.ours) {
    const auto there = deps_.files.Stat(place.path, false);
    if (there.status().code() == StatusCode::kNotFound) return OkStatus();
    RETURN_IF_ERROR(there, "look at {}", place.path);
    RETURN_IF_ERROR(MarkPod(uid, {place.path, source}), "mark of the pod");
  }
  FAIL_POINT("pod-worker.remove-volumes.before");
  RETURN_IF_ERROR(sub_paths_.Release(place.path), "parts of volumes");
  for (const auto& plugin : plugins_) {
    if (plugin->folder().empty()) continue;
    const std::string folder = FolderOf(*plugin, place.path);
    RETURN_IF_ERROR(plugin->Release(folder), "release volumes");
    auto volumes = deps_.files.List(folder);
    if (volumes.status().code() == StatusCode::kNotFound) continue;
    if (!volumes.ok()) return Annotate(volumes.status(), "list volumes");
    for (const auto& volume : *volumes)
      RETURN_IF_ERROR(plugin->TearDown(fmt::format("{}/{}", folder, volume.name)), "volume \"{}\"",
                      volume.name);
    RETURN_IF_ERROR(deps_.files.RemoveTree(folder), "remove volumes");
  }
  FAIL_POINT("pod-worker.remove-volumes.after");
  return OkStatus();
}

}  // namespace splitlet::pod_worker
