#include "services/status/api/pods/pod_status_writer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "libs/kube/pod_bytes.h"

namespace splitlet::status {
namespace {

constexpr Duration kFirstWait = std::chrono::seconds{1};
constexpr Duration kLongestWait = std::chrono::seconds{30};
constexpr size_t kStrands = 8;

std::string StrandOf(const std::string& key) {
  return "api/pod-" + std::to_string(std::hash<std::string>{}(key) % kStrands);
}

StatusVersion VersionOf(const v1::PodStatusRecord& record) {
  return {.version = record.version(), .deletable = record.deletable()};
}

}  // namespace

PodStatusWriter::PodStatusWriter(Deps deps)
    : deps_(std::move(deps)),
      stop_(std::make_shared<CancelToken>()),
      random_(deps_.seed),
      backoff_(deps_.env.clock, {.initial = kFirstWait, .max = kLongestWait, .jitter = 0.2}),
      queue_(deps_.env.loop, deps_.env.clock, [this](const std::string& key) { Work(key); }),
      asker_(deps_.env.loop, deps_.env.strands) {}

PodStatusWriter::~PodStatusWriter() { stop_->Cancel(); }

void PodStatusWriter::AddSoon(const std::string& key) { queue_.Add(key, backoff_.Remaining(key)); }

void PodStatusWriter::OnStatus(const std::string& key) {
  if (!deps_.table.Contains(key)) {
    pods_.erase(key);
    compare_.erase(key);
    unreached_.erase(key);
    to_ask_.erase(key);
    queue_.Remove(key);
    backoff_.Reset(key);
    return;
  }
  Pod& pod = pods_[key];
  if (!pod.unsent_since) pod.unsent_since = deps_.env.clock.Now();
  AddSoon(key);
}

void PodStatusWriter::OnDesired(const std::string& key) { OnShown(key); }

void PodStatusWriter::OnMirror(const std::string& static_key) { OnShown(static_key); }

void PodStatusWriter::OnShown(const std::string& key) {
  const auto at = pods_.find(key);
  if (at == pods_.end()) return;
  Pod& pod = at->second;
  const auto record = deps_.table.Get(key);
  const auto target = record == nullptr ? std::nullopt : TargetOf(key, *record);
  if (!target) return;
  const AfterShown after = CompareWithShown(pod, VersionOf(*record), *target);
  if (after.restored) pod.server.reset();
  if (target->object.uid == pod.uid && target->shown != nullptr)
    pod.shown_version = target->shown->version;
  if (after.compare) compare_.insert(key);
  if (after.call_soon) AddSoon(key);
}

void PodStatusWriter::OnReconcile() {
  const auto keys = std::exchange(compare_, {});
  for (const auto& key : keys) {
    const auto at = pods_.find(key);
    if (at == pods_.end()) continue;
    at->second.differs = true;
    AddSoon(key);
  }
  double unsent = 0;
  for (const auto& [key, pod] : pods_) {
    if (!pod.unsent_since) continue;
    ++unsent;
    if (!pod.busy()) AddSoon(key);
  }
  deps_.metrics.unsent.Set(unsent);
  backoff_.Collect();
}

std::optional<PodTarget> PodStatusWriter::TargetOf(const std::string& key,
                                                   const v1::PodStatusRecord& record) const {
  PodTarget target;
  std::string shown_as = key;
  if (kube::IsStaticSource(record.source())) {
    const Mirror* mirror = deps_.mirrors.Find(key);
    if (mirror == nullptr) return std::nullopt;
    target.object = mirror->object;
    target.mirror = true;
    shown_as = bus::KeyOf(mirror->object.uid);
  } else if (record.source() == kube::kApiSource) {
    target.object = {record.namespace_(), record.name(), record.uid()};
  } else {
    return std::nullopt;
  }
  const auto desired = deps_.desired.Find(shown_as);
  if (!target.mirror) {
    // Without a readable record of this incarnation the API may no longer have the pod.
    if (desired == nullptr || desired->incarnation() != record.incarnation()) return std::nullopt;
    if (desired->state() != v1::DesiredRecord::WANTED) return std::nullopt;
  }
  if (desired == nullptr) return target;
  const auto pod = kube::ParsePod(desired->pod());
  if (!pod.ok() || pod->metadata().uid() != target.object.uid) return target;
  target.shown = ServerPodOf(*pod);
  target.live = deps_.desired.LiveAndComplete(kube::kApiSource);
  return target;
}

void PodStatusWriter::Work(const std::string& key) {
  CHECK(deps_.env.loop.IsCurrent());
  const auto at = pods_.find(key);
  if (at == pods_.end()) return;
  Pod& pod = at->second;
  if (pod.busy()) {
    pod.RepeatCall();
    return;
  }
  const auto record = deps_.table.Get(key);
  const auto target = record == nullptr ? std::nullopt : TargetOf(key, *record);
  if (!target) return;
  if (target->object.uid != pod.uid) {  // the mirror pod was created again
    Pod again;
    again.uid = target->object.uid;
    again.unsent_since = pod.unsent_since ? pod.unsent_since : deps_.env.clock.Now();
    if (pod.progress == WriteProgress::kWritten) again.progress = WriteProgress::kWritten;
    pod = std::move(again);
  }
  switch (NextCall(pod, VersionOf(*record), *target)) {
    case PodCall::kNone: return;
    case PodCall::kWrite: return Write(key, *record, *target);
    case PodCall::kAskFinished: return AskFinished(key);
  }
}

void PodStatusWriter::Write(const std::string& key, const v1::PodStatusRecord& record,
                            const PodTarget& target) {
  Pod& pod = pods_[key];
  pod.BeginCall();
  pod.differs = false;
  WriteTask task{.object = target.object,
                 .status = record.status(),
                 .mirror = target.mirror,
                 .first = pod.progress != WriteProgress::kWritten,
                 .base = BaseOf(pod, target)};
  asker_.Ask(
      StrandOf(key),
      [&clock = deps_.env.clock, stop = stop_, client = deps_.client, task = std::move(task)] {
        return WriteStatus(*client, task, {clock.Now() + kCallTimeout, stop});
      },
      [this, key, target, version = record.version()](const Written& written) {
        OnWritten(key, version, target, written);
      });
}

void PodStatusWriter::OnWritten(const std::string& key, uint64_t version, const PodTarget& target,
                                const Written& written) {
  const auto at = pods_.find(key);
  if (at == pods_.end() || at->second.uid != target.object.uid) return;
  Pod& pod = at->second;
  const bool repeat = pod.EndCall();
  pod.server = written.server;
  if (!written.status.ok()) return Fail(key, "write", written.status);
  OnReached();
  backoff_.Reset(key);
  pod.logged_error.clear();
  if (written.gone) {
    pod.gone = true;
    pod.unsent_since = {};
    if (repeat) queue_.Add(key);  // its mirror pod may have been created again
    if (target.mirror) deps_.mirrors.OnGone(target.object);
    return;
  }
  if (deps_.on_stored && pod.server != nullptr) deps_.on_stored(key, pod.server->status);
  pod.progress = WriteProgress::kWritten;
  pod.sent = std::max(pod.sent, version);
  const auto record = deps_.table.Get(key);
  if (record == nullptr) return;
  if (record->version() <= pod.sent && pod.unsent_since) {
    const auto took =
        std::chrono::duration<double>(deps_.env.clock.Now() - pod.unsent_since).count();
    deps_.metrics.sync_duration.Observe(took);
    pod.unsent_since = {};
  }
  const bool more = repeat || record->version() > pod.sent;
  if (more || MayBeDeleted(pod, VersionOf(*record), target)) queue_.Add(key);
}

void PodStatusWriter::AskFinished(const std::string& key) {
  to_ask_.insert(key);
  if (asking_) return;
  asking_ = true;
  asker_.Ask(
      "api/finished",
      [&clock = deps_.env.clock, stop = stop_, finished = deps_.finished] {
        return finished->List({clock.Now() + kCallTimeout, stop});
      },
      [this, keys = std::exchange(to_ask_, {})](
          const StatusOr<std::map<std::string, int64_t>>& answer) { OnFinished(keys, answer); });
}

void PodStatusWriter::OnFinished(const std::set<std::string>& keys,
                                 const StatusOr<std::map<std::string, int64_t>>& finished) {
  asking_ = false;
  for (const auto& key : keys) {
    const auto at = pods_.find(key);
    const auto record = deps_.table.Get(key);
    if (at == pods_.end() || record == nullptr || at->second.busy()) continue;
    if (!finished.ok()) {
      Fail(key, "delete", finished.status());
      continue;
    }
    const auto known = finished->find(record->uid());
    if (known != finished->end() && known->second == record->incarnation()) {
      Delete(key);
    } else {
      queue_.Add(key, backoff_.Next(key, &random_));
    }
  }
  if (to_ask_.empty()) return;
  const std::string next = *to_ask_.begin();  // one call asks for all pods that wait
  AskFinished(next);
}

void PodStatusWriter::Delete(const std::string& key) {
  const auto record = deps_.table.Get(key);
  const auto target = TargetOf(key, *record);
  Pod& pod = pods_[key];
  if (!target || !MayBeDeleted(pod, VersionOf(*record), *target)) return;
  pod.BeginCall();
  asker_.Ask(
      StrandOf(key),
      [&clock = deps_.env.clock, stop = stop_, client = deps_.client, object = target->object] {
        return DeletePod(*client, object, {clock.Now() + kCallTimeout, stop});
      },
      [this, key, object = target->object](const Status& status) {
        OnDeleted(key, object, status);
      });
}

void PodStatusWriter::OnDeleted(const std::string& key, const PodObject& object,
                                const Status& status) {
  const auto at = pods_.find(key);
  if (at == pods_.end() || at->second.uid != object.uid) return;
  Pod& pod = at->second;
  pod.EndCall();
  if (status.code() == StatusCode::kAborted) pod.server.reset();  // another UID: read it again
  if (!status.ok()) return Fail(key, "delete", status);
  OnReached();
  backoff_.Reset(key);
  pod.gone = true;
  deps_.env.log.Info(
      "pod fully terminated and removed from the API",
      {KV("pod", kube::PodKey(object.name_space, object.name)), KV("podUID", object.uid)});
}

void PodStatusWriter::Fail(const std::string& key, const char* call, const Status& status) {
  deps_.metrics.errors.Add({{"call", call}}).Increment();
  Pod& pod = pods_[key];
  if (pod.progress == WriteProgress::kNothing) pod.progress = WriteProgress::kFirstCallFailed;
  if (apiclient::IsOutOfReach(status)) unreached_.insert(key);
  queue_.Add(key, backoff_.Next(key, &random_));
  const std::string error = IsAwaited(status) ? "" : ToString(status);
  if (!error.empty() && error != pod.logged_error)
    deps_.env.log.Warn("cannot update or delete a pod at the API server, will retry",
                       {KV("podUID", key), KV("call", call), KV("err", status)});
  pod.logged_error = error;
}

void PodStatusWriter::OnReached() {
  if (unreached_.empty()) return;
  for (const auto& key : std::exchange(unreached_, {})) {
    backoff_.Reset(key);
    queue_.Add(key);
  }
}

}  // namespace splitlet::status
