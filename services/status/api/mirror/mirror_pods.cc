#include "services/status/api/mirror/mirror_pods.h"

#include <functional>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/kube/pod_bytes.h"

namespace splitlet::status {
namespace {

constexpr Duration kFirstMirrorWait = std::chrono::seconds{1};
constexpr Duration kLongestMirrorWait = std::chrono::seconds{60};
/// A created mirror pod that `desired` does not show for so long is created again.
constexpr Duration kShownAfter = std::chrono::seconds{60};
constexpr size_t kMirrorStrands = 8;

std::string MirrorStrandOf(const std::string& full_name) {
  return "api/mirror-" + std::to_string(std::hash<std::string>{}(full_name) % kMirrorStrands);
}

std::optional<Mirror> ReadMirror(const kube::Pod& pod) {
  if (!kube::IsMirror(pod)) return std::nullopt;
  const auto& metadata = pod.metadata();
  return Mirror{.object = {metadata.namespace_(), metadata.name(), metadata.uid()},
                .hash = kube::AnnotationOf(pod, kube::kConfigMirror),
                .deleting = metadata.has_deletion_timestamp()};
}

Status SendCreate(apiclient::Client& client, const kube::Pod& pod, const Deadline& deadline,
                  kube::Pod& answer) {
  FAIL_POINT("status.create-mirror.before");
  const Status status =
      client.Create(PodsPath(pod.metadata().namespace_()), {"v1", "Pod", pod}, &answer, deadline);
  FAIL_POINT("status.create-mirror.after");
  return status;
}

Status SendMirrorDelete(apiclient::Client& client, const PodObject& object,
                        const Deadline& deadline) {
  FAIL_POINT("status.delete-mirror.before");
  const Status status =
      client.Delete(PathOf(object), {.uid = object.uid, .grace_period_seconds = 0}, deadline);
  FAIL_POINT("status.delete-mirror.after");
  return status;
}

/// The mirror pod that has the name after the call, also if another client created it.
StatusOr<Mirror> EnsureMirror(apiclient::Client& client, const kube::Pod& pod,
                              const Deadline& deadline) {
  kube::Pod answer;
  Status made = SendCreate(client, pod, deadline, answer);
  if (made.code() == StatusCode::kAlreadyExists) {
    answer.Clear();
    const auto& metadata = pod.metadata();
    made = client.Get(PathOf({metadata.namespace_(), metadata.name(), ""}), &answer, deadline);
  }
  if (!made.ok()) return made;
  auto mirror = ReadMirror(answer);
  if (!mirror) return FailedPrecondition("a pod that is no mirror pod has its name");
  return *std::move(mirror);
}

}  // namespace

MirrorAct NextMirrorAct(const MirrorInputs& in) {
  if (in.mirror == nullptr)
    return in.wanted != nullptr && in.node_known ? MirrorAct::kMake : MirrorAct::kNone;
  if (in.wanted != nullptr && in.mirror->hash == *in.wanted && !in.mirror->deleting)
    return MirrorAct::kNone;
  if (in.still_ends) return MirrorAct::kNone;
  return in.wanted != nullptr || in.certain ? MirrorAct::kDelete : MirrorAct::kNone;
}

kube::Pod MirrorOf(const kube::Pod& static_pod, const std::string& node_name,
                   const std::string& node_uid) {
  kube::Pod pod = static_pod;
  pod.clear_status();
  auto& metadata = *pod.mutable_metadata();
  const std::string hash = kube::AnnotationOf(pod, kube::kConfigHash);
  metadata.clear_uid();
  metadata.clear_resource_version();
  metadata.clear_generation();
  metadata.clear_creation_timestamp();
  metadata.clear_deletion_timestamp();
  metadata.clear_deletion_grace_period_seconds();
  (*metadata.mutable_annotations())[std::string(kube::kConfigMirror)] = hash;
  metadata.clear_owner_references();
  auto& owner = *metadata.add_owner_references();
  owner.set_api_version("v1");
  owner.set_kind("Node");
  owner.set_name(node_name);
  owner.set_uid(node_uid);
  owner.set_controller(true);
  return pod;
}

struct MirrorPods::Answer {
  Status status;
  const char* call = "";
  std::optional<Mirror> there;
  PodObject removed;  // UID empty: nothing was removed
};

MirrorPods::MirrorPods(Deps deps)
    : deps_(std::move(deps)),
      stop_(std::make_shared<CancelToken>()),
      random_(deps_.seed),
      backoff_(deps_.env.clock,
               {.initial = kFirstMirrorWait, .max = kLongestMirrorWait, .jitter = 0.1}),
      queue_(deps_.env.loop, deps_.env.clock, [this](const std::string& name) { Reconcile(name); }),
      asker_(deps_.env.loop, deps_.env.strands) {}

MirrorPods::~MirrorPods() { stop_->Cancel(); }

void MirrorPods::Forget(const std::string& key) {
  const auto known = name_of_.find(key);
  if (known == name_of_.end()) return;
  const std::string full_name = known->second;
  name_of_.erase(known);
  const auto at = names_.find(full_name);
  if (at == names_.end()) return;
  Name& name = at->second;
  name.statics.erase(key);
  std::erase_if(name.shown, [&](const auto& entry) {
    if (bus::KeyOf(entry.first) != key) return false;
    name.gone.erase(entry.first);
    --shown_;
    return true;
  });
  deps_.metrics.mirrors.Set(static_cast<double>(shown_));
}

void MirrorPods::Insert(const std::string& key, const v1::DesiredRecord& record) {
  const bool is_static = kube::IsStaticSource(record.source());
  if (!is_static && record.state() != v1::DesiredRecord::MIRROR) return;
  const auto pod = kube::ParsePod(record.pod());
  if (!pod.ok()) return;
  const std::string full_name = kube::FullName(record.name(), record.namespace_());
  Name& name = names_[full_name];
  name_of_[key] = full_name;
  if (is_static) {
    name.statics[key] = {.hash = kube::AnnotationOf(*pod, kube::kConfigHash),
                         .wanted = record.state() == v1::DesiredRecord::WANTED};
    return;
  }
  auto mirror = ReadMirror(*pod);
  if (!mirror) return;
  if (name.made && name.made->object.uid == mirror->object.uid) name.made.reset();
  name.shown.insert_or_assign(mirror->object.uid, *std::move(mirror));
  deps_.metrics.mirrors.Set(static_cast<double>(++shown_));
}

void MirrorPods::OnDesired(const std::string& key) {
  const auto before = name_of_.find(key);
  const std::string old_name = before == name_of_.end() ? "" : before->second;
  std::set<std::string> hashes;
  const auto note = [&](const std::string& full_name) {
    const auto at = names_.find(full_name);
    if (at == names_.end()) return;
    for (const auto& [uid, mirror] : at->second.shown)
      if (bus::KeyOf(uid) == key) hashes.insert(mirror.hash);
  };
  note(old_name);
  // A record that cannot be decoded is not an absence.
  const auto record = deps_.desired.Find(key);
  if (record == nullptr && deps_.desired.Contains(key)) return;
  Forget(key);
  if (record != nullptr) Insert(key, *record);
  if (!old_name.empty()) queue_.Add(old_name, backoff_.Remaining(old_name));
  if (const auto after = name_of_.find(key); after != name_of_.end()) {
    note(after->second);
    queue_.Add(after->second, backoff_.Remaining(after->second));
  }
  for (const auto& hash : hashes) NotifyChange(hash);
}

void MirrorPods::OnWorker(const std::string& key) {
  if (const auto known = name_of_.find(key); known != name_of_.end())
    queue_.Add(known->second, backoff_.Remaining(known->second));
}

void MirrorPods::OnViewState() { AddAll(); }

void MirrorPods::OnNode(const std::string& uid) {
  if (uid == node_uid_) return;
  node_uid_ = uid;
  AddAll();
}

void MirrorPods::OnReconcile() { AddAll(); }

void MirrorPods::AddAll() {
  for (const auto& [full_name, name] : names_) queue_.Add(full_name, backoff_.Remaining(full_name));
}

void MirrorPods::OnGone(const PodObject& object) {
  const std::string full_name = kube::FullName(object.name, object.name_space);
  const auto at = names_.find(full_name);
  if (at == names_.end()) return;
  Name& name = at->second;
  if (name.made && name.made->object.uid == object.uid) name.made.reset();
  if (name.shown.contains(object.uid)) name.gone.insert(object.uid);
  queue_.Add(full_name, backoff_.Remaining(full_name));
}

const Mirror* MirrorPods::Current(const Name& name) const {
  const Mirror* found = nullptr;
  for (const auto& [uid, mirror] : name.shown) {
    if (name.gone.contains(uid)) continue;
    if (found == nullptr || found->deleting) found = &mirror;
  }
  return found == nullptr && name.made ? &*name.made : found;
}

const Mirror* MirrorPods::Find(const std::string& static_key) const {
  const auto known = name_of_.find(static_key);
  if (known == name_of_.end()) return nullptr;
  const auto at = names_.find(known->second);
  if (at == names_.end()) return nullptr;
  const auto of = at->second.statics.find(static_key);
  const Mirror* mirror = Current(at->second);
  const bool shows =
      mirror != nullptr && of != at->second.statics.end() && mirror->hash == of->second.hash;
  return shows ? mirror : nullptr;
}

bool MirrorPods::IsUnfinished(const std::string& key) const {
  const auto worker = deps_.workers.Find(key);
  if (worker == nullptr) return deps_.workers.Contains(key);
  return worker->state() != v1::FINISHED;
}

/// The static pod is gone for good: its worker has finished and it was removed. An incomplete
/// source cannot want it again.
bool MirrorPods::IsRemoved(const std::string& key) const {
  const auto worker = deps_.workers.Find(key);
  return worker != nullptr && worker->state() == v1::FINISHED && worker->removed() &&
         !deps_.desired.Contains(key);
}

MirrorInputs MirrorPods::InputsOf(const Name& name) const {
  MirrorInputs in{.mirror = Current(name), .node_known = !node_uid_.empty()};
  for (const auto& [key, one] : name.statics)
    if (in.wanted == nullptr && one.wanted && !one.hash.empty()) in.wanted = &one.hash;
  for (const auto& [key, one] : name.statics)
    if (in.wanted == nullptr || one.hash != *in.wanted)
      in.still_ends = in.still_ends || !one.wanted;
  if (in.mirror == nullptr) return in;
  const std::string& hash = in.mirror->hash;
  const bool of_another = in.wanted == nullptr || hash != *in.wanted;
  if (of_another && IsUnfinished(bus::KeyOf(hash))) in.still_ends = true;
  in.certain = IsRemoved(bus::KeyOf(hash)) || (deps_.desired.LiveAndComplete(kube::kFileSource) &&
                                               deps_.desired.LiveAndComplete(kube::kHttpSource) &&
                                               deps_.workers.LiveAndComplete());
  return in;
}

void MirrorPods::Reconcile(const std::string& full_name) {
  const auto at = names_.find(full_name);
  if (at == names_.end() || at->second.busy) return;
  Name& name = at->second;
  if (name.statics.empty() && name.shown.empty() && !name.made) {
    backoff_.Reset(full_name);
    names_.erase(at);
    return;
  }
  if (name.made && deps_.env.clock.Now() - name.made_at > kShownAfter) name.made.reset();
  switch (const MirrorInputs in = InputsOf(name); NextMirrorAct(in)) {
    case MirrorAct::kNone: return;
    case MirrorAct::kMake: return Make(full_name, name);
    case MirrorAct::kDelete: return Delete(full_name, name, in.wanted == nullptr);
  }
  UNREACHABLE();
}

void MirrorPods::Make(const std::string& full_name, Name& name) {
  for (const auto& [key, one] : name.statics) {
    const bool wanted = one.wanted && !one.hash.empty();
    const auto record = wanted ? deps_.desired.Find(key) : nullptr;
    const auto pod = record == nullptr ? NotFound("no record") : kube::ParsePod(record->pod());
    if (!pod.ok()) continue;
    name.busy = true;
    Run(full_name, [client = deps_.client,
                    pod = MirrorOf(*pod, deps_.node_name, node_uid_)](const Deadline& deadline) {
      Answer answer{.call = "create-mirror"};
      auto mirror = EnsureMirror(*client, pod, deadline);
      answer.status = mirror.status();
      if (mirror.ok()) answer.there = *std::move(mirror);
      return answer;
    });
    return;
  }
}

void MirrorPods::Delete(const std::string& full_name, Name& name, bool orphan) {
  const Mirror mirror = *Current(name);
  name.busy = true;
  Run(full_name, [client = deps_.client, owner = deps_.owner, mirror,
                  orphan](const Deadline& deadline) {
    Answer answer{.call = "delete-mirror"};
    if (orphan) {
      const auto known = owner->Knows(mirror.hash, deadline);
      answer.status = known.status();
      // config-source still wants the static pod: our view of `desired` is behind.
      if (!known.ok() || *known) return answer;
    }
    answer.status = SendMirrorDelete(*client, mirror.object, deadline);
    const bool other = answer.status.code() == StatusCode::kAborted;  // another pod has its name
    if (other || answer.status.code() == StatusCode::kNotFound) answer.status = OkStatus();
    if (answer.status.ok()) answer.removed = mirror.object;
    return answer;
  });
}

void MirrorPods::Run(const std::string& full_name,
                     std::function<Answer(const Deadline& deadline)> work) {
  asker_.Ask(
      MirrorStrandOf(full_name),
      [&clock = deps_.env.clock, stop = stop_, work = std::move(work)] {
        return work({clock.Now() + kCallTimeout, stop});
      },
      [this, full_name](const Answer& answer) { OnAnswer(full_name, answer); });
}

void MirrorPods::OnAnswer(const std::string& full_name, const Answer& answer) {
  const auto at = names_.find(full_name);
  if (at == names_.end()) return;
  Name& name = at->second;
  name.busy = false;
  if (!answer.status.ok()) {
    deps_.metrics.errors.Add({{"call", answer.call}}).Increment();
    queue_.Add(full_name, backoff_.Next(full_name, &random_));
    const std::string error = IsAwaited(answer.status) ? "" : ToString(answer.status);
    if (!error.empty() && error != name.logged_error)
      deps_.env.log.Warn("cannot create or delete a mirror pod, will retry",
                         {KV("pod", full_name), KV("call", answer.call), KV("err", answer.status)});
    name.logged_error = error;
    return;
  }
  backoff_.Reset(full_name);
  name.logged_error.clear();
  if (answer.there) {
    const std::string& uid = answer.there->object.uid;
    name.gone.erase(uid);
    if (!name.shown.contains(uid)) {
      name.made = answer.there;
      name.made_at = deps_.env.clock.Now();
    }
    deps_.env.log.Info("mirror pod exists", {KV("pod", full_name), KV("podUID", uid)});
    NotifyChange(answer.there->hash);
  }
  if (!answer.removed.uid.empty()) OnGone(answer.removed);
  queue_.Add(full_name,
             answer.there || !answer.removed.uid.empty() ? Duration{0} : kFirstMirrorWait);
}

void MirrorPods::NotifyChange(const std::string& hash) {
  if (deps_.on_change && !hash.empty()) deps_.on_change(bus::KeyOf(hash));
}

}  // namespace splitlet::status
