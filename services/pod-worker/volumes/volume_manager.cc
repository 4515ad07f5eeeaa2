#include "services/pod-worker/volumes/volume_manager.h"

#include <algorithm>
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
#include "services/pod-worker/volumes/local.h"
#include "services/pod-worker/volumes/mounted_names.h"
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

/// As block devices.
std::set<std::string> DeviceNames(const kube::Pod& pod) {
  std::set<std::string> names;
  const auto add = [&names](const auto& container) {
    for (const auto& device : container.volume_devices()) names.insert(device.name());
  };
  std::ranges::for_each(pod.spec().init_containers(), add);
  std::ranges::for_each(pod.spec().containers(), add);
  for (const auto& container : pod.spec().ephemeral_containers())
    add(container.ephemeral_container_common());
  return names;
}

/// One that names its own step is told as it is.
Status SetUpFailed(const kube::Volume& volume, const Status& why) {
  if (Message(why).starts_with("MountVolume.")) return why;
  return MakeStatus(why.code(), "MountVolume.SetUp failed for volume \"{}\" : {}", volume.name(),
                    Message(why));
}

std::string FolderOf(const VolumePlugin& plugin, const std::string& pod_dir) {
  return fmt::format("{}/volumes/{}", pod_dir, plugin.folder());
}

/// An image is mounted by the runtime.
bool IsMadeHere(const kube::Volume& volume, const std::set<std::string>& mounted) {
  return mounted.contains(volume.name()) && !volume.volume_source().has_image();
}

std::vector<prometheus::Labels> ByPlugin(const std::vector<std::string>& plugins,
                                         const std::string& state) {
  std::vector<prometheus::Labels> labels;
  for (const auto& plugin : plugins) labels.push_back({{"plugin_name", plugin}, {"state", state}});
  return labels;
}

std::vector<prometheus::Labels> AsWanted(const std::vector<std::string>& plugins) {
  return ByPlugin(plugins, "desired_state_of_world");
}

std::vector<prometheus::Labels> AsMade(const std::vector<std::string>& plugins) {
  return ByPlugin(plugins, "actual_state_of_world");
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
      wanted_(deps_.metrics.total_volumes),
      made_(deps_.metrics.total_volumes),
      dirs_({deps_.files, deps_.mounts, deps_.ownership, deps_.log}),
      sub_paths_({deps_.files, deps_.mounts, deps_.log}) {
  plugins_.push_back(std::make_unique<HostPathVolume>(deps_.files, fs::MakeNewFile));
  plugins_.push_back(std::make_unique<EmptyDirVolume>(dirs_, deps_.node.allocatable.memory_bytes));
  plugins_.push_back(std::make_unique<NfsVolume>(NfsVolume::Deps{deps_.files, deps_.run}));
  plugins_.push_back(std::make_unique<LocalVolume>(
      LocalVolume::Deps{deps_.files, deps_.mounts, dirs_, deps_.run, fs::GroupOf}));
  local_ = plugins_.back().get();
  for (const auto& kind : ObjectVolume::Kinds())
    plugins_.push_back(std::make_unique<ObjectVolume>(
        kind, ObjectVolume::Deps{deps_.files, dirs_, deps_.clock, deps_.node}));
}

VolumePlugin* VolumeManager::Find(const kube::Volume& volume) const {
  for (const auto& plugin : plugins_)
    if (plugin->Takes(volume.volume_source())) return plugin.get();
  return nullptr;
}

/// Measured as a kubelet measures a mount, or what shows something new.
Status VolumeManager::Make(VolumePlugin& plugin, const kube::Volume& volume, const VolumeInput& in,
                           const std::string& path) const {
  const auto begin = deps_.clock.Now();
  Status made = plugin.SetUp(volume, in, path);
  deps_.metrics.ObserveStorage(plugin.name(), "volume_mount", deps_.clock.Now() - begin, made.ok());
  return made;
}

Status VolumeManager::TakeDown(VolumePlugin& plugin, const std::string& path) const {
  const auto begin = deps_.clock.Now();
  Status gone = plugin.TearDown(path);
  deps_.metrics.ObserveStorage(plugin.name(), "volume_unmount", deps_.clock.Now() - begin,
                               gone.ok());
  return gone;
}

struct VolumeManager::Resolved {
  kube::Volume volume;
  std::vector<std::string> mount_options = {};
  bool local = false;  // a persistent volume of that kind, which no pod can name itself
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
  Resolved resolved{*std::move(real), {options.begin(), options.end()}};
  resolved.local = (*found)->spec().persistent_volume_source().has_local();
  if (resolved.local && volume.volume_source().persistent_volume_claim().read_only())
    resolved.mount_options.emplace_back(LocalVolume::kReadOnly);
  return resolved;
}

VolumePlugin* VolumeManager::PluginOf(const Resolved& resolved) const {
  return resolved.local ? local_ : Find(resolved.volume);
}

StatusOr<std::string> VolumeManager::PathOf(const kube::Volume& volume, const VolumePlugin& plugin,
                                            const std::string& pod_dir) const {
  if (plugin.folder().empty()) return plugin.HostPath(volume.volume_source());
  return fmt::format("{}/{}", FolderOf(plugin, pod_dir), volume.name());
}

Status VolumeManager::MakePlace(const VolumeInput& in, const node::PodPlace& place) {
  if (!place.ours)
    RETURN_IF_ERROR(MarkPod(in.pod.metadata().uid(), {place.path, kube::SourceOf(in.pod)}),
                    "error making pod data directories");
  RETURN_IF_ERROR(deps_.files.MakeDirs(place.path, kPodDirMode),
                  "error making pod data directories");
  return OkStatus();
}

StatusOr<VolumePaths> VolumeManager::SetUp(const VolumeInput& in, const node::PodPlace& place,
                                           const OnFailed& failed) {
  const std::set<std::string> mounted = MountedNames(in.pod), devices = DeviceNames(in.pod);
  VolumePaths paths;
  std::list<Resolved> made_of;
  std::vector<Wanted> wanted;
  Status first;
  const auto fail = [&](const Status& why) {
    first.Update(why);
    failed(why);
  };
  for (const auto& volume : in.pod.spec().volumes()) {
    if (devices.contains(volume.name()))
      fail(InvalidArgument(
          "Unable to attach or mount volumes: volume \"{}\": block volumes are not supported",
          volume.name()));
    if (!IsMadeHere(volume, mounted)) continue;
    auto resolved = Resolve(volume, in);
    if (!resolved.ok()) {
      fail(resolved.status());
      continue;
    }
    const Resolved& found = made_of.emplace_back(*std::move(resolved));
    const kube::Volume& real = found.volume;
    VolumePlugin* const plugin = PluginOf(found);
    if (plugin == nullptr) {
      fail(InvalidArgument("Unable to attach or mount volumes: volume type \"{}\" is not supported",
                           KindOf(real)));
      continue;
    }
    auto path = PathOf(real, *plugin, place.path);
    if (!path.ok()) {
      fail(SetUpFailed(real, path.status()));
      continue;
    }
    paths[volume.name()] = *path;
    wanted.push_back({real, *std::move(path), plugin, found.mount_options});
  }
  const std::string& uid = in.pod.metadata().uid();
  std::vector<std::string> wanted_plugins, made_plugins;
  for (const auto& each : wanted) wanted_plugins.push_back(each.plugin->name());
  wanted_.Set(uid, AsWanted(wanted_plugins));
  FAIL_POINT("pod-worker.ensure-volumes.before");
  if (const Status ready = MakePlace(in, place); !ready.ok()) {
    failed(ready);
    return ready;
  }
  for (const auto& [volume, path, plugin, options] : wanted) {
    const VolumeInput for_start{in.pod, in.objects, true, options};
    Status made = plugin->folder().empty()
                      ? OkStatus()
                      : deps_.files.MakeDirs(FolderOf(*plugin, place.path), kPodDirMode);
    if (made.ok()) made = Make(*plugin, volume, for_start, path);
    if (made.ok())
      made_plugins.push_back(plugin->name());
    else
      fail(SetUpFailed(volume, made));
  }
  made_.Set(uid, AsMade(made_plugins));
  if (!first.ok()) return first;
  FAIL_POINT("pod-worker.ensure-volumes.after");
  return paths;
}

void VolumeManager::CountFound(const VolumeInput& in) {
  const std::string& uid = in.pod.metadata().uid();
  if (wanted_.Knows(uid)) return;
  std::vector<std::string> plugins;
  const std::set<std::string> mounted = MountedNames(in.pod);
  for (const auto& volume : in.pod.spec().volumes()) {
    if (!IsMadeHere(volume, mounted)) continue;
    const auto found = Resolve(volume, in);
    if (!found.ok()) continue;
    if (const VolumePlugin* const plugin = PluginOf(*found)) plugins.push_back(plugin->name());
  }
  wanted_.Set(uid, AsWanted(plugins));
  made_.Set(uid, AsMade(plugins));
}

Status VolumeManager::Refresh(const VolumeInput& in, const node::PodPlace& place,
                              const OnFailed& failed) {
  CountFound(in);
  Status first;
  std::set<std::string> mounted;
  for (const auto& volume : in.pod.spec().volumes()) {
    VolumePlugin* const plugin = Find(volume);
    if (plugin == nullptr || !plugin->refreshes()) continue;
    if (mounted.empty()) mounted = MountedNames(in.pod);
    if (!mounted.contains(volume.name())) continue;
    const auto path = PathOf(volume, *plugin, place.path);
    const Status made = path.ok() ? Make(*plugin, volume, in, *path) : path.status();
    if (made.ok()) continue;
    first.Update(SetUpFailed(volume, made));
    failed(SetUpFailed(volume, made));
  }
  return first;
}

Status VolumeManager::MarkPod(const std::string& uid, const node::PodMark& mark) {
  FAIL_POINT("pod-worker.mark-pod.before");
  const Status marked = node::MarkPodPlace(deps_.files, deps_.node.pod_roots, uid, mark);
  if (!marked.ok()) return marked;
  FAIL_POINT("pod-worker.mark-pod.after");
  return OkStatus();
}

Status VolumeManager::TearDown(const std::string& uid, const std::string& source) {
  wanted_.Set(uid, {});
  ASSIGN_OR_RETURN(const auto place, node::FindPodPlace(deps_.files, deps_.node.pod_roots, uid),
                   "pod directory");
  if (!place.ours) {
    const auto there = deps_.files.Stat(place.path, false);
    if (there.status().code() == StatusCode::kNotFound) {
      wanted_.Forget(uid);
      made_.Forget(uid);
      return OkStatus();
    }
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
      RETURN_IF_ERROR(TakeDown(*plugin, fmt::format("{}/{}", folder, volume.name)), "volume \"{}\"",
                      volume.name);
    RETURN_IF_ERROR(deps_.files.RemoveTree(folder), "remove volumes");
  }
  wanted_.Forget(uid);
  made_.Forget(uid);
  FAIL_POINT("pod-worker.remove-volumes.after");
  return OkStatus();
}

}  // namespace splitlet::pod_worker
