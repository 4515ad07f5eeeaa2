#include "services/pod-worker/volumes/csi/node_volumes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/csi/access_mode.h"
#include "libs/csi/driver_object.h"
#include "services/pod-worker/volumes/csi/unpublish.h"

namespace splitlet::pod_worker {

namespace {

using csi::MountState;

constexpr Duration kReadNodeAgain = std::chrono::seconds{1};

/// A mount of an earlier start may exist.
constexpr StateBefore kLeftByEarlierStart{MountState::kUncertain, csi::Origin::kReconstructed};

std::string StrandOfMount(const PodVolumeKey& key) {
  return "csi/" + key.pod_uid + "/" + key.directory;
}

}  // namespace

NodeVolumes::NodeVolumes(CsiDeps deps, std::string root_dir, Out out)
    : deps_(std::move(deps)),
      root_dir_(std::move(root_dir)),
      out_(std::move(out)),
      asker_(deps_.env.loop, deps_.env.strands) {}

void NodeVolumes::Start() {
  FindLeftVolumes();
  ReadNodeOnce();
}

void NodeVolumes::FindLeftVolumes() {
  asker_.Ask(
      "csi/find", [disk = deps_.disk, root = root_dir_] { return FindVolumes(disk, root); },
      [this](const StatusOr<FoundVolumes>& found) { OnFound(found); });
}

void NodeVolumes::OnFound(const StatusOr<FoundVolumes>& found) {
  if (!found.ok()) {
    deps_.env.log.LogIfError(found.status(), "find CSI volumes of an earlier start");
    asker_.RunAfter(kReadNodeAgain, [this] { FindLeftVolumes(); });
    return;
  }
  Add(*found);
  found_ = true;
  AdvanceAll();
}

void NodeVolumes::Add(const FoundVolumes& found) {
  for (const auto& staged : found.staged) {
    auto& volume = VolumeOf(staged.data.driver, staged.data.handle, csi::Lifecycle::kPersistent);
    volume.staging_dir = staged.directory;
    volume.device = kLeftByEarlierStart;
  }
  for (const auto& published : found.published) {
    VolumeOf(published.data.driver, published.data.handle, published.data.lifecycle);
    PodMount& mount = mounts_[published.key];
    mount.volume = csi::UniqueName(published.data.driver, published.data.handle);
    mount.directory = published.directory;
    mount.mount = kLeftByEarlierStart;
  }
  for (const auto& unreadable : found.unreadable) {
    deps_.env.log.Warn(
        "a CSI volume of an earlier start has no usable file",
        {KV("podUID", unreadable.key.pod_uid), KV("volume", unreadable.key.directory),
         KV("err", Message(unreadable.why))});
    if (unreadable.key.pod_uid.empty()) continue;
    PodMount& mount = mounts_[unreadable.key];
    mount.mount = kLeftByEarlierStart;
    if (mount.volume.empty()) unreadable_.insert(unreadable.key);
  }
}

/// A volume of an earlier start is unstaged only when the API server can say what this node is.
void NodeVolumes::ReadNodeOnce() {
  const auto known = std::make_shared<bool>(false);
  const auto then = asker_.Guard([this, known] {
    if (!*known) {
      asker_.RunAfter(kReadNodeAgain, [this] { ReadNodeOnce(); });
      return;
    }
    node_read_ = true;
    AdvanceAll();
  });
  deps_.objects.ReadNode([known, then](const auto& node) {
    *known = node.ok();
    then();
  });
}

void NodeVolumes::OnPodsKnown() {
  if (std::exchange(pods_known_, true)) return;
  AdvanceAll();
}

void NodeVolumes::OnNode(NodeAttachments node) {
  if (node == node_) return;
  node_ = std::move(node);
  AdvanceAll();
}

void NodeVolumes::OnDriversChanged() {
  const auto now = deps_.env.clock.Now();
  for (auto& [name, volume] : volumes_) volume.backoff.TryNow(now);
  for (auto& [key, mount] : mounts_) mount.backoff.TryNow(now);
  AdvanceAll();
}

NodeVolumes::NodeVolume& NodeVolumes::VolumeOf(const std::string& driver, const std::string& handle,
                                               csi::Lifecycle lifecycle) {
  const auto [at, added] = volumes_.try_emplace(csi::UniqueName(driver, handle));
  NodeVolume& volume = at->second;
  if (added) {
    volume.driver = driver;
    volume.handle = handle;
    volume.lifecycle = lifecycle;
    volume.staging_dir = deps_.paths.StagingDir(driver, handle);
  }
  return volume;
}

std::vector<PodVolumeKey> NodeVolumes::MountsOf(const std::string& volume) const {
  std::vector<PodVolumeKey> keys;
  for (const auto& [key, mount] : mounts_)
    if (mount.volume == volume) keys.push_back(key);
  return keys;
}

void NodeVolumes::OnWish(const PodVolumeKey& key, Wish wish, bool again) {
  const std::string name = csi::UniqueName(wish.volume.driver, wish.volume.handle);
  PodMount& mount = mounts_[key];
  if (!mount.volume.empty() && mount.volume != name &&
      mount.mount.state != MountState::kNotMounted) {
    out_.mounted(key, {VolumeStep::kSetUp,
                       FailedPrecondition("{} is still mounted in its place", mount.volume)});
    return;
  }
  unreadable_.erase(key);
  VolumeOf(wish.volume.driver, wish.volume.handle, wish.volume.lifecycle);
  const std::string before = std::exchange(mount.volume, name);
  mount.directory = wish.directory;
  mount.again = again;
  mount.wish = std::move(wish);
  if (before != name) Advance(before);
  Advance(name);
  Report();
}

void NodeVolumes::OnUnmount(const PodVolumeKey& key, const std::string& directory) {
  PodMount& mount = mounts_[key];
  mount.directory = directory;
  mount.wish.reset();
  mount.leaves = true;
  if (!mount.volume.empty())
    Advance(mount.volume);
  else if (found_ && mount.running.operation == nullptr)
    BeginUnpublish(key);
  Report();
}

void NodeVolumes::OnRelease(const std::string& uid) {
  std::set<std::string> names;
  for (auto& [key, mount] : mounts_) {
    if (key.pod_uid != uid) continue;
    mount.wish.reset();
    names.insert(mount.volume);
  }
  releasing_.insert(uid);
  for (const auto& name : names)
    if (!name.empty()) Advance(name);
  AnswerRelease(uid);
  Report();
}

/// Not while a publish may still make the pod's directory.
void NodeVolumes::AnswerRelease(const std::string& uid) {
  if (!releasing_.contains(uid)) return;
  for (const auto& [key, mount] : mounts_)
    if (key.pod_uid == uid && mount.running.operation != nullptr) return;
  releasing_.erase(uid);
  out_.released(uid);
}

void NodeVolumes::AdvanceAll() {
  std::vector<std::string> names;
  for (const auto& [name, volume] : volumes_) names.push_back(name);
  for (const auto& name : names) Advance(name);
  if (found_)
    for (auto& [key, mount] : mounts_)
      if (mount.volume.empty() && mount.leaves && mount.running.operation == nullptr)
        BeginUnpublish(key);
  Report();
}

/// While a volume is staged or unstaged, it is neither published nor unpublished.
void NodeVolumes::Advance(const std::string& name) {
  const auto found = volumes_.find(name);
  if (!found_ || found == volumes_.end()) return;
  const NodeVolume& volume = found->second;
  if (volume.running.operation != nullptr) return;
  const Wish* wish = nullptr;
  bool busy = false;
  for (const auto& key : MountsOf(name)) {
    PodMount& mount = mounts_.at(key);
    if (mount.leaves && mount.running.operation == nullptr) BeginUnpublish(key);
    busy = busy || mount.running.operation != nullptr;
    if (mount.wish) wish = &*mount.wish;
  }
  if (wish == nullptr) return Clean(name);
  const bool ready =
      volume.lifecycle == csi::Lifecycle::kEphemeral || volume.device.state == MountState::kMounted;
  if (!ready) {
    if (!busy) EnsureStaged(name, *wish);
    return;
  }
  for (const auto& key : MountsOf(name)) EnsurePublished(key);
}

/// A volume that no pod wants goes when no pod has it.
void NodeVolumes::Clean(const std::string& name) {
  NodeVolume& volume = volumes_.at(name);
  bool used = false;
  for (const auto& key : MountsOf(name)) {
    const PodMount& mount = mounts_.at(key);
    if (mount.running.operation != nullptr || mount.mount.state != MountState::kNotMounted)
      used = true;
    else
      mounts_.erase(key);
  }
  if (used) return;
  if (volume.device.state == MountState::kNotMounted) {
    volumes_.erase(name);
    return;
  }
  if (!MayUnstage(volume)) return;
  const Duration wait = volume.backoff.Left(deps_.env.clock.Now());
  if (wait > Duration{0}) return AdvanceAfter(name, wait);
  BeginUnstage(name);
}

bool NodeVolumes::MayUnstage(const NodeVolume& volume) const {
  return pods_known_ && node_read_ &&
         (volume.device.origin == csi::Origin::kMountedByUs || unreadable_.empty());
}

bool NodeVolumes::MayNeedAttachment(const std::string& name, const NodeVolume& volume) const {
  if (volume.lifecycle == csi::Lifecycle::kEphemeral) return false;
  const auto object = deps_.objects.FindDriver(volume.driver);
  return !object.ok() || csi::NeedsAttachment(object->get()) || node_.attached.contains(name);
}

/// A volume that is to be attached waits for the Node's status without an error.
void NodeVolumes::EnsureStaged(const std::string& name, const Wish& wish) {
  NodeVolume& volume = volumes_.at(name);
  const Duration wait = volume.backoff.Left(deps_.env.clock.Now());
  if (wait > Duration{0}) return AdvanceAfter(name, wait);
  const auto object = deps_.objects.FindDriver(volume.driver);
  if (!object.ok()) return;
  if (!csi::NeedsAttachment(object->get())) volume.context.emplace();
  if (volume.context) return BeginStage(name, wish);
  if (node_.in_use.contains(name) && node_.attached.contains(name)) BeginAttachCheck(name, wish);
}

bool NodeVolumes::IsTakenByAnotherPod(const PodVolumeKey& key, const PodMount& mount) const {
  if (!csi::IsForOnePod(mount.wish->volume.access_modes)) return false;
  return std::any_of(mounts_.begin(), mounts_.end(), [&](const auto& other) {
    return other.second.volume == mount.volume && other.first.pod_uid != key.pod_uid &&
           (other.second.mount.state != MountState::kNotMounted ||
            other.second.running.operation != nullptr);
  });
}

void NodeVolumes::EnsurePublished(const PodVolumeKey& key) {
  PodMount& mount = mounts_.at(key);
  if (!mount.wish || mount.running.operation != nullptr) return;
  const auto object = deps_.objects.FindDriver(mount.wish->volume.driver);
  if (!object.ok()) return;
  const bool mounted = mount.mount.state == MountState::kMounted;
  const bool again = std::exchange(mount.again, false) && csi::WantsRepublish(object->get());
  if (mounted && !again) return;
  const Duration wait = mount.backoff.Left(deps_.env.clock.Now());
  if (wait > Duration{0}) {
    if (!mounted) AdvanceAfter(mount.volume, wait);  // else the next sync of the pod
    return;
  }
  if (IsTakenByAnotherPod(key, mount))
    return OnPublished(
        key, Failed(csi::ErrorClass::kTransient, VolumeStep::kSetUp,
                    FailedPrecondition("volume uses the ReadWriteOncePod access mode and is "
                                       "already in use by another pod")));
  BeginPublish(key, *object);
}

void NodeVolumes::AdvanceAfter(const std::string& name, Duration wait) {
  const auto at = deps_.env.clock.Now() + wait;
  const auto due = due_.find(name);
  if (due != due_.end() && due->second <= at) return;
  due_[name] = at;
  asker_.RunAfter(wait, [this, name, at] {
    const auto waited = due_.find(name);
    if (waited == due_.end() || waited->second != at) return;
    due_.erase(waited);
    Advance(name);
    Report();
  });
}

void NodeVolumes::Report() {
  VolumesInUse now{.known = found_};
  for (const auto& [name, volume] : volumes_)
    if (MayNeedAttachment(name, volume)) now.names.push_back(name);
  if (now == reported_) return;
  reported_ = now;
  out_.in_use(reported_);
}

Operation::Host NodeVolumes::HostOf(const std::string& strand, std::function<void()> advance) {
  return {.loop = deps_.env.loop,
          .strands = deps_.env.strands,
          .strand = strand,
          .advance = std::move(advance)};
}

void NodeVolumes::Run(Running& running) {
  if (running.operation == nullptr) return;
  const auto outcome = running.operation->Advance();
  if (!outcome) return;
  const Running ended = std::exchange(running, {});
  ended.on_end(*ended.operation, *outcome);
}

void NodeVolumes::RunVolume(const std::string& name) {
  const auto found = volumes_.find(name);
  if (found != volumes_.end()) Run(found->second.running);
}

void NodeVolumes::RunMount(const PodVolumeKey& key) {
  const auto found = mounts_.find(key);
  if (found != mounts_.end()) Run(found->second.running);
}

void NodeVolumes::BeginAttachCheck(const std::string& name, const Wish& wish) {
  auto host = HostOf("csi/" + name, [this, name] { RunVolume(name); });
  volumes_.at(name).running = {std::make_unique<AttachCheck>(deps_, wish.volume, std::move(host)),
                               [this, name](Operation& ended, const Outcome& outcome) {
                                 if (!outcome.status.ok()) return OnFailed(name, outcome);
                                 volumes_.at(name).context =
                                     static_cast<AttachCheck&>(ended).publish_context();
                                 Advance(name);
                                 Report();
                               }};
  RunVolume(name);
}

void NodeVolumes::BeginStage(const std::string& name, const Wish& wish) {
  NodeVolume& volume = volumes_.at(name);
  StageVolume::Input input{.volume = wish.volume,
                           .publish_context = *std::exchange(volume.context, std::nullopt),
                           .before = volume.device};
  if (wish.fs_group) input.fs_group = *wish.fs_group;
  auto host = HostOf("csi/" + name, [this, name] { RunVolume(name); });
  volume.running = {std::make_unique<StageVolume>(deps_, std::move(input), std::move(host)),
                    [this, name](Operation&, const Outcome& outcome) { OnStaged(name, outcome); }};
  RunVolume(name);
}

/// A volume that its driver does not stage is ready too.
void NodeVolumes::OnStaged(const std::string& name, const Outcome& outcome) {
  NodeVolume& volume = volumes_.at(name);
  auto& device = volume.device;
  if (!outcome.status.ok()) {
    device.state = csi::AfterFailedMount(device.state, outcome.error_class, device.origin);
    return OnFailed(name, outcome);
  }
  device = {.state = MountState::kMounted};
  volume.backoff.Clear();
  Advance(name);
  Report();
}

/// All pods that wait for the volume get the failure.
void NodeVolumes::OnFailed(const std::string& name, const Outcome& outcome) {
  NodeVolume& volume = volumes_.at(name);
  volume.backoff.OnFailed(deps_.env.clock.Now());
  if (outcome.silent)
    deps_.env.log.Info("a volume is not attached yet",
                       {KV("volume", name), KV("err", Message(outcome.status))});
  for (const auto& key : MountsOf(name)) {
    const PodMount& mount = mounts_.at(key);
    if (!outcome.silent && mount.wish && mount.mount.state != MountState::kMounted)
      out_.mounted(key, {outcome.step, outcome.status});
  }
  Advance(name);
  Report();
}

void NodeVolumes::BeginUnstage(const std::string& name) {
  NodeVolume& volume = volumes_.at(name);
  volume.context.reset();
  auto host = HostOf("csi/" + name, [this, name] { RunVolume(name); });
  volume.running = {
      std::make_unique<UnstageVolume>(deps_, volume.driver, volume.staging_dir, std::move(host)),
      [this, name](Operation&, const Outcome& outcome) { OnUnstaged(name, outcome); }};
  RunVolume(name);
}

void NodeVolumes::OnUnstaged(const std::string& name, const Outcome& outcome) {
  NodeVolume& volume = volumes_.at(name);
  if (outcome.status.ok()) {
    volume.device = {};
    volume.backoff.Clear();
  } else {
    deps_.env.log.LogIfError(outcome.status, "unstage a volume");
    volume.device.state = csi::AfterFailedUnmount(volume.device.state, outcome.error_class);
    volume.backoff.OnFailed(deps_.env.clock.Now());
  }
  Advance(name);
  Report();
}

void NodeVolumes::BeginPublish(const PodVolumeKey& key, ObjectPtr<CsiDriverObject> object) {
  PodMount& mount = mounts_.at(key);
  const bool attached = csi::NeedsAttachment(object.get());
  PublishVolume::Input input{.wish = *mount.wish,
                             .object = std::move(object),
                             .attached = attached,
                             .before = mount.mount};
  auto host = HostOf(StrandOfMount(key), [this, key] { RunMount(key); });
  mount.running = {std::make_unique<PublishVolume>(deps_, std::move(input), std::move(host)),
                   [this, key](Operation&, const Outcome& outcome) { OnPublished(key, outcome); }};
  RunMount(key);
}

void NodeVolumes::OnPublished(const PodVolumeKey& key, const Outcome& outcome) {
  PodMount& mount = mounts_.at(key);
  const std::string name = mount.volume;
  auto& state = mount.mount;
  if (outcome.status.ok()) {
    state = {.state = MountState::kMounted};
    mount.backoff.Clear();
    out_.mounted(key, Progress::kDone);
  } else {
    state.state = csi::AfterFailedMount(state.state, outcome.error_class, state.origin);
    mount.backoff.OnFailed(deps_.env.clock.Now());
    out_.mounted(key, {outcome.step, outcome.status});
  }
  AnswerRelease(key.pod_uid);
  Advance(name);
  Report();
}

void NodeVolumes::BeginUnpublish(const PodVolumeKey& key) {
  PodMount& mount = mounts_.at(key);
  auto host = HostOf(StrandOfMount(key), [this, key] { RunMount(key); });
  mount.running = {
      std::make_unique<UnpublishVolume>(deps_, mount.directory, std::move(host)),
      [this, key](Operation&, const Outcome& outcome) { OnUnpublished(key, outcome); }};
  RunMount(key);
}

/// The pod asks again after a failure.
void NodeVolumes::OnUnpublished(const PodVolumeKey& key, const Outcome& outcome) {
  const auto found = mounts_.find(key);
  PodMount& mount = found->second;
  const std::string name = mount.volume;
  mount.leaves = false;
  bool was_unreadable = false;
  if (outcome.status.ok()) {
    mount.mount = {};
    was_unreadable = unreadable_.erase(key) > 0;
    if (!mount.wish) mounts_.erase(found);
  } else {
    mount.mount.state = csi::AfterFailedUnmount(mount.mount.state, outcome.error_class);
  }
  out_.unmounted(key, outcome.status);
  AnswerRelease(key.pod_uid);
  if (was_unreadable) return AdvanceAll();
  if (!name.empty()) Advance(name);
  Report();
}

}  // namespace splitlet::pod_worker
