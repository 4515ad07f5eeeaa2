#include "services/pod-worker/volumes/volume_manager.h"

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/path.h"
#include "libs/kube/static_pod.h"
#include "services/pod-worker/pod/volume_traits.h"
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
constexpr const char* kFailedPlace = "Failed";  // reason for the pod's directory
SetUpResult NoBlockDevice(const VolumeSpec& spec) {
  return {VolumeStep::kFindMapper,
          FailedPrecondition("a volume of type \"{}\" is no block device", spec.kind())};
}

SetUpResult NotSupported(const VolumeSpec& spec) {
  if (spec.is_block()) return NoBlockDevice(spec);
  if (spec.persistent == nullptr)
    return {VolumeStep::kFindPlugin,
            InvalidArgument("volume type \"{}\" is not supported", spec.kind())};
  return {VolumeStep::kFindPlugin,
          FailedPrecondition("persistent volume type \"{}\" is not supported", spec.kind())};
}

/// `own`: the step of the call that gave the result.
VolumeFailure FailureOf(const VolumeSpec& spec, const SetUpResult& result, VolumeStep own) {
  return {result.step().value_or(own), spec.name(), result.status()};
}

std::string FolderOf(const VolumePlugin& plugin, const std::string& pod_dir) {
  return fmt::format("{}/volumes/{}", pod_dir, plugin.folder());
}

std::string DeviceFolderOf(const VolumePlugin& plugin, const std::string& pod_dir) {
  return fmt::format("{}/volumeDevices/{}", pod_dir, plugin.folder());
}

/// `pod_dir`: "<root>/pods/<uid>".
VolumePlace PlaceOf(const VolumePlugin& plugin, const std::string& pod_dir,
                    const std::string& volume) {
  if (plugin.folder().empty()) return {};
  return {.path = fmt::format("{}/{}", FolderOf(plugin, pod_dir), volume),
          .device = fmt::format("{}/{}", DeviceFolderOf(plugin, pod_dir), volume),
          .plugins_dir = fmt::format("{}/plugins", fs::ParentOf(fs::ParentOf(pod_dir))),
          .pod_uid = std::string(fs::NameOf(pod_dir))};
}

/// The runtime mounts images.
bool IsMadeHere(const kube::Volume& volume, const std::set<std::string>& used) {
  return used.contains(volume.name()) && !volume.volume_source().has_image();
}

std::vector<prometheus::Labels> ByPlugin(const std::vector<std::string>& plugins,
                                         const std::string& state) {
  std::vector<prometheus::Labels> labels;
  for (const auto& plugin : plugins) labels.push_back({{"plugin_name", plugin}, {"state", state}});
  return labels;
}

std::string OwnerOfWanted(const std::string& uid) { return uid + "/wanted"; }
std::string OwnerOfMade(const std::string& uid) { return uid + "/made"; }

}  // namespace

VolumeManager::VolumeManager(Deps deps)
    : deps_(std::move(deps)),
      counts_(deps_.metrics.total_volumes),
      dirs_({deps_.files, deps_.mounts, deps_.ownership, deps_.log}),
      sub_paths_({deps_.files, deps_.mounts, deps_.log}) {
  own_plugins_.push_back(std::make_unique<HostPathVolume>(deps_.files, fs::MakeNewFile));
  own_plugins_.push_back(
      std::make_unique<EmptyDirVolume>(dirs_, deps_.node.allocatable.memory_bytes));
  own_plugins_.push_back(std::make_unique<NfsVolume>(NfsVolume::Deps{deps_.files, deps_.programs}));
  own_plugins_.push_back(std::make_unique<LocalVolume>(LocalVolume::Deps{.files = deps_.files,
                                                                         .mounts = deps_.mounts,
                                                                         .dirs = dirs_,
                                                                         .run = deps_.run,
                                                                         .group_of = fs::GroupOf,
                                                                         .clock = deps_.clock}));
  for (const auto& kind : ObjectVolume::Kinds())
    own_plugins_.push_back(std::make_unique<ObjectVolume>(
        kind, ObjectVolume::Deps{deps_.files, dirs_, deps_.clock, deps_.node}));
  for (const auto& plugin : own_plugins_) plugins_.push_back(plugin.get());
  if (deps_.csi != nullptr) plugins_.push_back(deps_.csi);
}

VolumePlugin* VolumeManager::PluginOf(const VolumeSpec& spec) const {
  for (VolumePlugin* const plugin : plugins_)
    if (plugin->Takes(spec)) return plugin;
  return nullptr;
}

/// Measures like a kubelet: a mount, or a refresh. A set-up that was under way is measured from the
/// last call.
SetUpResult VolumeManager::Make(const Choice& choice, const VolumeInput& in) const {
  const auto begin = deps_.clock.Now();
  auto made = choice.plugin->SetUp(choice.spec, in, choice.place);
  if (made.ok() && *made == Progress::kUnderWay) return made;
  deps_.metrics.ObserveStorage(choice.plugin->name(), "volume_mount", deps_.clock.Now() - begin,
                               made.ok());
  return made;
}

StatusOr<Progress> VolumeManager::TearDownVolume(VolumePlugin& plugin,
                                                 const VolumePlace& place) const {
  const auto begin = deps_.clock.Now();
  auto gone = plugin.TearDown(place);
  if (gone.ok() && *gone == Progress::kUnderWay) return gone;
  deps_.metrics.ObserveStorage(plugin.name(), "volume_unmount", deps_.clock.Now() - begin,
                               gone.ok());
  return gone;
}

void VolumeManager::Count(const std::string& uid, const std::vector<std::string>& wanted,
                          const std::vector<std::string>& made) {
  counts_.Set(OwnerOfWanted(uid), ByPlugin(wanted, "desired_state_of_world"));
  counts_.Set(OwnerOfMade(uid), ByPlugin(made, "actual_state_of_world"));
}

void VolumeManager::Uncount(const std::string& uid) {
  counts_.Forget(OwnerOfWanted(uid));
  counts_.Forget(OwnerOfMade(uid));
}

/// Before the volume has a name: a translated one has another.
std::variant<VolumeSpec, VolumeFailure> VolumeManager::Translate(VolumeSpec spec,
                                                                 const kube::Pod& pod) const {
  if (deps_.csi == nullptr) return spec;
  const std::string name = spec.name();
  auto translated = deps_.csi->Translate(std::move(spec), pod);
  if (translated.ok()) return *std::move(translated);
  return VolumeFailure{VolumeStep::kProcessClaim, name, translated.status()};
}

std::variant<VolumeSpec, VolumeFailure> VolumeManager::Resolve(const kube::Volume& volume,
                                                               const VolumeInput& in) const {
  const std::string claim = ClaimNameOf(volume, in.pod);
  if (claim.empty()) return Translate({volume}, in.pod);
  StatusOr<BoundVolume> found = Unavailable("this node has no objects");
  if (in.objects != nullptr) found = VolumeOfClaim(volume, in.pod, *in.objects);
  if (!found.ok()) return VolumeFailure{VolumeStep::kProcessClaim, volume.name(), found.status()};
  auto translated = Translate({volume, std::move(found->claim), std::move(found->volume)}, in.pod);
  if (!std::holds_alternative<VolumeSpec>(translated)) return translated;
  auto& spec = std::get<VolumeSpec>(translated);
  const Status here = CheckNodeAffinity(*spec.persistent, deps_.node.name);
  if (!here.ok()) return VolumeFailure{VolumeStep::kCheckNodeAffinity, spec.name(), here};
  if (!in.objects->MayUse({in.pod.metadata().namespace_(), claim}))
    return VolumeFailure{VolumeStep::kSetUp, spec.name(),
                         FailedPrecondition("volume uses the ReadWriteOncePod access mode and is "
                                            "already in use by another pod")};
  return translated;
}

std::variant<VolumeManager::Choice, VolumeFailure> VolumeManager::Choose(
    const kube::Volume& volume, const VolumeInput& in, const std::string& pod_dir) const {
  auto resolved = Resolve(volume, in);
  if (auto* const failure = std::get_if<VolumeFailure>(&resolved)) return std::move(*failure);
  auto& spec = std::get<VolumeSpec>(resolved);
  VolumePlugin* const plugin = PluginOf(spec);
  if (plugin == nullptr) return FailureOf(spec, NotSupported(spec), VolumeStep::kFindPlugin);
  if (!plugin->takes_mount_options() && !spec.mount_options().empty())
    return VolumeFailure{
        VolumeStep::kCheckMountOptions, spec.name(),
        FailedPrecondition("mount options are not supported for this volume type")};
  const bool as_device = spec.is_block();
  VolumePlace place = PlaceOf(*plugin, pod_dir, spec.name());
  auto host_path = as_device ? StatusOr<std::string>(place.device) : plugin->HostPath(spec, place);
  if (!host_path.ok()) return VolumeFailure{VolumeStep::kSetUp, spec.name(), host_path.status()};
  return Choice{.spec = std::move(spec),
                .plugin = plugin,
                .place = std::move(place),
                .host_path = *std::move(host_path),
                .as_device = as_device};
}

Status VolumeManager::MakePlace(const VolumeInput& in, const node::PodPlace& place) {
  if (!place.ours)
    RETURN_IF_ERROR(MarkPod(in.pod.metadata().uid(), {place.path, kube::SourceOf(in.pod)}),
                    "error making pod data directories");
  RETURN_IF_ERROR(deps_.files.MakeDirs(place.path, kPodDirMode),
                  "error making pod data directories");
  return OkStatus();
}

SetUpResult VolumeManager::Map(const Choice& choice) const {
  BlockMapper* const mapper = choice.plugin->block();
  return mapper == nullptr ? NoBlockDevice(choice.spec) : mapper->Map(choice.spec, choice.place);
}

SetUpResult VolumeManager::MakeFor(const Choice& choice, const VolumeInput& in,
                                   const std::string& pod_dir) const {
  if (choice.as_device) return Map(choice);
  if (!choice.plugin->folder().empty()) {
    const Status made = deps_.files.MakeDirs(FolderOf(*choice.plugin, pod_dir), kPodDirMode);
    if (!made.ok()) return made;
  }
  return Make(choice, in);
}

StatusOr<PodVolumes> VolumeManager::SetUp(const VolumeInput& in, const node::PodPlace& place,
                                          const OnFailed& failed) {
  std::set<std::string> used = MountedNames(in.pod);
  used.merge(DeviceNames(in.pod));
  PodVolumes volumes;
  std::vector<Choice> choices;
  Status first;
  const auto fail = [&](const VolumeFailure& failure) {
    const Status error = EventErrorOf(failure);
    first.Update(error);
    failed(EventReasonOf(failure.step), error);
  };
  for (const auto& volume : in.pod.spec().volumes()) {
    if (!IsMadeHere(volume, used)) continue;
    auto chosen = Choose(volume, in, place.path);
    if (const auto* const failure = std::get_if<VolumeFailure>(&chosen)) {
      fail(*failure);
      continue;
    }
    auto& choice = std::get<Choice>(chosen);
    volumes.paths[volume.name()] = choice.host_path;
    if (const auto group = choice.spec.group()) volumes.groups.insert(*group);
    choices.push_back(std::move(choice));
  }
  const std::string& uid = in.pod.metadata().uid();
  std::vector<std::string> wanted, made;
  for (const auto& choice : choices) wanted.push_back(choice.plugin->name());
  counts_.Set(OwnerOfWanted(uid), ByPlugin(wanted, "desired_state_of_world"));
  FAIL_POINT("pod-worker.ensure-volumes.before");
  if (const Status ready = MakePlace(in, place); !ready.ok()) {
    failed(kFailedPlace, ready);
    return ready;
  }
  for (const auto& choice : choices) {
    const VolumeStep own = choice.as_device ? VolumeStep::kMapDevice : VolumeStep::kSetUp;
    const auto done = MakeFor(choice, {in.pod, in.objects, true, in.warn}, place.path);
    if (!done.ok())
      fail(FailureOf(choice.spec, done, own));
    else if (*done == Progress::kUnderWay)
      volumes.progress = Progress::kUnderWay;
    else
      made.push_back(choice.plugin->name());
  }
  Count(uid, wanted, made);
  if (!first.ok()) return first;
  FAIL_POINT("pod-worker.ensure-volumes.after");
  return volumes;
}

void VolumeManager::CountFound(const VolumeInput& in) {
  const std::string& uid = in.pod.metadata().uid();
  if (counts_.Knows(OwnerOfWanted(uid))) return;
  std::vector<std::string> plugins;
  std::set<std::string> used = MountedNames(in.pod);
  used.merge(DeviceNames(in.pod));
  for (const auto& volume : in.pod.spec().volumes()) {
    if (!IsMadeHere(volume, used)) continue;
    const auto resolved = Resolve(volume, in);
    const auto* const spec = std::get_if<VolumeSpec>(&resolved);
    const VolumePlugin* const plugin = spec == nullptr ? nullptr : PluginOf(*spec);
    if (plugin != nullptr) plugins.push_back(plugin->name());
  }
  Count(uid, plugins, plugins);
}

bool VolumeManager::MayRefresh(const kube::Pod& pod) const {
  if (ShowsObjects(pod)) return true;
  const auto& volumes = pod.spec().volumes();
  return deps_.csi != nullptr && std::ranges::any_of(volumes, [&](const kube::Volume& volume) {
           return volume.volume_source().has_csi() || !ClaimNameOf(volume, pod).empty();
         });
}

void VolumeManager::Refresh(const VolumeInput& in, const node::PodPlace& place,
                            const OnFailed& failed) {
  CountFound(in);
  std::set<std::string> mounted;
  for (const auto& volume : in.pod.spec().volumes()) {
    // Only drivers of CSI bring volumes behind claims up to date.
    const auto resolved = deps_.csi != nullptr ? Resolve(volume, in) : VolumeSpec{volume};
    const auto* const known = std::get_if<VolumeSpec>(&resolved);
    if (known == nullptr || known->is_block()) continue;
    const VolumeSpec& spec = *known;
    VolumePlugin* const plugin = PluginOf(spec);
    if (plugin == nullptr || !plugin->refreshes()) continue;
    if (mounted.empty()) mounted = MountedNames(in.pod);
    if (!mounted.contains(volume.name())) continue;
    const Choice choice{.spec = spec,
                        .plugin = plugin,
                        .place = PlaceOf(*plugin, place.path, spec.name()),
                        .host_path = {}};
    const auto made = Make(choice, in);
    if (made.ok()) continue;
    const VolumeFailure failure = FailureOf(spec, made, VolumeStep::kSetUp);
    failed(EventReasonOf(failure.step), EventErrorOf(failure));
  }
}

Status VolumeManager::MarkPod(const std::string& uid, const node::PodMark& mark) {
  FAIL_POINT("pod-worker.mark-pod.before");
  const Status marked = node::MarkPodPlace(deps_.files, deps_.node.pod_roots, uid, mark);
  if (!marked.ok()) return marked;
  FAIL_POINT("pod-worker.mark-pod.after");
  return OkStatus();
}

StatusOr<Progress> VolumeManager::UnmapAll(VolumePlugin& plugin, const std::string& pod_dir) const {
  const std::string folder = DeviceFolderOf(plugin, pod_dir);
  auto devices = deps_.files.List(folder);
  if (devices.status().code() == StatusCode::kNotFound) return Progress::kDone;
  if (!devices.ok()) return Annotate(devices.status(), "list block devices");
  Progress progress = Progress::kDone;
  for (const auto& device : *devices) {
    ASSIGN_OR_RETURN(const Progress gone,
                     plugin.block()->Unmap(PlaceOf(plugin, pod_dir, device.name)),
                     "block device \"{}\"", device.name);
    if (gone == Progress::kUnderWay) progress = gone;
  }
  if (progress == Progress::kDone)
    RETURN_IF_ERROR(deps_.files.RemoveTree(folder), "remove block devices");
  return progress;
}

StatusOr<Progress> VolumeManager::TearDownAll(VolumePlugin& plugin, const std::string& uid,
                                              const std::string& pod_dir) const {
  const std::string folder = FolderOf(plugin, pod_dir);
  ASSIGN_OR_RETURN(Progress progress, plugin.Release({.path = folder, .pod_uid = uid}),
                   "release volumes");
  if (progress == Progress::kUnderWay) return progress;
  auto volumes = deps_.files.List(folder);
  if (volumes.status().code() == StatusCode::kNotFound) return progress;
  if (!volumes.ok()) return Annotate(volumes.status(), "list volumes");
  for (const auto& volume : *volumes) {
    ASSIGN_OR_RETURN(const Progress gone,
                     TearDownVolume(plugin, PlaceOf(plugin, pod_dir, volume.name)), "volume \"{}\"",
                     volume.name);
    if (gone == Progress::kUnderWay) progress = gone;
  }
  if (progress == Progress::kDone)
    RETURN_IF_ERROR(deps_.files.RemoveTree(folder), "remove volumes");
  return progress;
}

/// A volume that is under way does not delay the others.
StatusOr<Progress> VolumeManager::TearDown(const std::string& uid, const std::string& source) {
  counts_.Set(OwnerOfWanted(uid), {});
  ASSIGN_OR_RETURN(const auto place, node::FindPodPlace(deps_.files, deps_.node.pod_roots, uid),
                   "pod directory");
  if (!place.ours) {
    const auto there = deps_.files.Stat(place.path, false);
    if (there.status().code() == StatusCode::kNotFound) {
      Uncount(uid);
      return Progress::kDone;
    }
    RETURN_IF_ERROR(there, "read {}", place.path);
    RETURN_IF_ERROR(MarkPod(uid, {place.path, source}), "mark the directory of the pod");
  }
  FAIL_POINT("pod-worker.remove-volumes.before");
  RETURN_IF_ERROR(sub_paths_.Release(place.path), "release subPaths");
  Progress progress = Progress::kDone;
  for (VolumePlugin* const plugin : plugins_) {
    if (plugin->folder().empty()) continue;
    const auto unmapped = plugin->block() == nullptr ? StatusOr<Progress>(Progress::kDone)
                                                     : UnmapAll(*plugin, place.path);
    if (!unmapped.ok()) return unmapped;
    const auto gone = TearDownAll(*plugin, uid, place.path);
    if (!gone.ok()) return gone;
    if (std::max(*unmapped, *gone) == Progress::kUnderWay) progress = Progress::kUnderWay;
  }
  if (progress == Progress::kUnderWay) return progress;
  Uncount(uid);
  FAIL_POINT("pod-worker.remove-volumes.after");
  return progress;
}

StatusOr<bool> VolumeManager::IsMarked(const std::string& uid) const {
  const auto place = node::FindPodPlace(deps_.files, deps_.node.pod_roots, uid);
  if (!place.ok()) return place.status();
  return place->ours;
}

}  // namespace splitlet::pod_worker
