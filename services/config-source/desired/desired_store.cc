#include "services/config-source/desired/desired_store.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/text.h"
#include "libs/base/trace.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

constexpr Duration kRetry = std::chrono::seconds{1};
const char* const kLoadStrand = "records";

/// A few strands for all pods, so that a node whose pods all change uses few threads.
std::string StrandOf(const RecordKey& key) {
  constexpr size_t kWriters = 16;
  return fmt::format("records/{}", std::hash<std::string>{}(key.name()) % kWriters);
}

StatusOr<fs::RecordStore::All> ReadRecords(const fs::RecordStore& records) {
  FAIL_POINT("config-source.read-facts");
  return records.ReadAll();
}

v1::DesiredRecord::State RecordStateOf(PodState state) {
  switch (state) {
    case PodState::kWanted: return v1::DesiredRecord::WANTED;
    case PodState::kUnconfirmed: return v1::DesiredRecord::UNCONFIRMED;
    case PodState::kRemoved: return v1::DesiredRecord::REMOVED;
    case PodState::kMirror: return v1::DesiredRecord::MIRROR;
  }
  UNREACHABLE();
}

/// A mirror pod has no file. A state of a later version is that of a wanted pod.
PodState SavedStateOf(v1::DesiredRecord::State state) {
  if (state == v1::DesiredRecord::REMOVED) return PodState::kRemoved;
  return state == v1::DesiredRecord::UNCONFIRMED ? PodState::kUnconfirmed : PodState::kWanted;
}

Status SaveRecord(const fs::RecordStore& records, const RecordKey& key, const std::string& bytes) {
  FAIL_POINT("config-source.save-fact.before");
  RETURN_IF_ERROR(records.Save(key.name(), bytes, false), "save record {}", key.name());
  FAIL_POINT("config-source.save-fact.after");
  return OkStatus();
}

Status ForgetRecord(const fs::RecordStore& records, const RecordKey& key) {
  FAIL_POINT("config-source.forget-fact.before");
  RETURN_IF_ERROR(records.Forget(key.name()), "remove record {}", key.name());
  FAIL_POINT("config-source.forget-fact.after");
  return OkStatus();
}

Status PutRecord(bus::Table<v1::DesiredRecord>& table, const RecordKey& key,
                 const v1::DesiredRecord& record, const std::string& traceparent) {
  FAIL_POINT("config-source.put.before");
  RETURN_IF_ERROR(table.Put(key.name(), record, traceparent), "put {}", key.name());
  FAIL_POINT("config-source.put.after");
  return OkStatus();
}

StatusOr<std::string> DiscardRecord(const fs::RecordStore& records, const RecordKey& key) {
  FAIL_POINT("config-source.discard-record.before");
  ASSIGN_OR_RETURN(std::string path, records.PutAside(key.name()), "discard record {}", key.name());
  FAIL_POINT("config-source.discard-record.after");
  return path;
}

std::string NoAnswer(Duration since) {
  return fmt::format("the disk has not answered for {} s",
                     std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

}  // namespace

DesiredStore::DesiredStore(Deps deps, std::function<void(const std::string& uid)> on_put)
    : deps_(std::move(deps)),
      on_put_(std::move(on_put)),
      asker_(deps_.env.loop, deps_.env.strands) {}

DesiredStore::~DesiredStore() {
  deps_.env.loop.CancelTimer(load_retry_);
  for (const auto& [uid, progress] : progress_) deps_.env.loop.CancelTimer(progress.retry);
}

void DesiredStore::Load(std::function<void()> done) {
  load_retry_ = 0;
  loading_since_ = deps_.env.clock.Now();
  asker_.Ask(
      kLoadStrand, [records = deps_.records] { return ReadRecords(*records); },
      [this, done = std::move(done)](const StatusOr<fs::RecordStore::All>& all) {
        OnLoaded(all, done);
      });
}

void DesiredStore::OnLoaded(const StatusOr<fs::RecordStore::All>& all,
                            const std::function<void()>& done) {
  loading_since_ = {};
  if (!all.ok()) {
    deps_.metrics.record_errors.Increment();
    const std::string error = fmt::format("read records: {}", all.status());
    if (error != load_error_)
      deps_.env.log.Error("cannot read saved pods, will retry", {KV("err", error)});
    load_error_ = error;
    load_retry_ = deps_.env.loop.RunAfter(kRetry, [this, done] { Load(done); });
    return;
  }
  load_error_.clear();
  for (const auto& saved : all->records) Restore(saved);
  for (const auto& bad : all->unreadable) {
    deps_.metrics.record_errors.Increment();
    deps_.env.log.Error("cannot read the saved record of a pod, the pod waits",
                        {KV("podUID", bad.key), KV("err", bad.reason), KV("newer", bad.newer)});
    const RecordKey key = RecordKey::Named(bad.key);
    if (bad.newer) blocked_.insert(key);
    unreadable_[key] = bad.reason;
  }
  std::vector<std::string> removed;  // a put may withdraw the pod
  for (const auto& [uid, pod] : pods_)
    if (pod.IsRemoved()) removed.push_back(uid);
  for (const auto& uid : removed) PutDesired(uid);
  done();
}

void DesiredStore::Restore(const fs::RecordStore::Record& saved) {
  v1::DesiredRecord record;
  if (!record.ParseFromString(saved.bytes) || RecordKey::OfUid(record.uid()).name() != saved.key ||
      record.uid().empty()) {
    deps_.metrics.record_errors.Increment();
    deps_.env.log.Error("cannot parse the saved record of a pod, the pod waits for its source",
                        {KV("podUID", saved.key)});
    unreadable_[RecordKey::Named(saved.key)] = "not a record of this pod";
    return;
  }
  DesiredPod& pod = pods_[record.uid()];
  pod.name = record.name();
  pod.name_space = record.namespace_();
  pod.source = record.source();
  pod.origin = record.origin();
  pod.state = StateAfterStart(SavedStateOf(record.state()), pod.source,
                              record.put_at().boot() == deps_.env.clock.Now().boot);
  pod.incarnation = record.incarnation();
  pod.generation = record.generation();
  pod.seen_at = WallFromNanos(record.seen_at_wall_ns());
  pod.pod = std::make_shared<const std::string>(std::move(*record.mutable_pod()));
}

bool DesiredStore::IsWriting(const RecordKey& key) const {
  return std::ranges::any_of(progress_, [&key](const auto& entry) {
    return entry.second.IsWriting() && RecordKey::OfUid(entry.first) == key;
  });
}

void DesiredStore::PutAside(const RecordKey& key, std::function<void(StatusOr<std::string>)> done) {
  if (!unreadable_.contains(key)) return done(NotFound("the pod has no unreadable record"));
  if (IsWriting(key)) return done(Unavailable("the file is being replaced"));
  asker_.Ask(
      StrandOf(key), [key, records = deps_.records] { return DiscardRecord(*records, key); },
      [this, key, done = std::move(done)](const StatusOr<std::string>& path) {
        if (path.ok())
          deps_.env.log.Warn("discarded an unreadable record",
                             {KV("podUID", key.name()), KV("path", *path)});
        // An earlier attempt may have moved the file before it failed.
        if (path.ok() || path.status().code() == StatusCode::kNotFound) {
          blocked_.erase(key);
          unreadable_.erase(key);
        }
        done(path);
      });
}

bool DesiredStore::IsPut(const std::string& uid) const {
  const auto at = progress_.find(uid);
  return at != progress_.end() && at->second.put;
}

bool DesiredStore::IsBlocked(const std::string& uid) const {
  return blocked_.contains(RecordKey::OfUid(uid));
}

std::vector<RecordKey> DesiredStore::Broken() const {
  if (unreadable_.empty()) return {};
  std::set<RecordKey> wanted;
  for (const auto& [uid, pod] : pods_) wanted.insert(RecordKey::OfUid(uid));
  std::vector<RecordKey> broken;
  for (const auto& [key, why] : unreadable_)
    if (!blocked_.contains(key) && !wanted.contains(key)) broken.push_back(key);
  return broken;
}

bool DesiredStore::IsUnknown(const std::string& uid) const {
  return IsBlocked(uid) || (unreadable_.contains(RecordKey::OfUid(uid)) && !pods_.contains(uid));
}

void DesiredStore::Set(const std::string& uid, DesiredPod pod) {
  const bool mirror = pod.IsMirror();
  pods_.insert_or_assign(uid, std::move(pod));
  if (mirror) return PutDesired(uid);
  withdrawn_.erase(RecordKey::OfUid(uid));  // the save replaces its file
  Write(uid);
}

void DesiredStore::SetBaseline(const std::string& uid,
                               std::shared_ptr<const std::string> baseline) {
  pods_.at(uid).baseline = std::move(baseline);
}

void DesiredStore::Confirm(const std::string& uid) {
  if (pods_.at(uid).state != PodState::kUnconfirmed) return;
  DesiredPod pod = pods_.at(uid);
  pod.On(PodEvent::kDelivered);
  Set(uid, std::move(pod));
}

void DesiredStore::DropMirror(const std::string& uid, const std::string& traceparent) {
  CHECK(pods_.at(uid).IsMirror());
  RemoveDesired(uid, traceparent);
  on_put_(uid);
}

void DesiredStore::PutAgain(const std::string& uid, const std::string& problem) {
  DesiredPod& pod = pods_.at(uid);
  if (IsPut(uid) && pod.problem == problem) return;
  pod.problem = problem;
  // During a save, OnSaved puts the record: the file comes first.
  if (progress_[uid].file == FileState::kWritten) PutDesired(uid);
}

bool DesiredStore::MoveFile(const std::string& uid, FileEvent event) {
  Progress& progress = progress_[uid];
  progress.file = Next(progress.file, event);
  if (progress.file != FileState::kWriting) return false;
  deps_.env.loop.CancelTimer(std::exchange(progress.retry, 0));
  progress.writing_since = deps_.env.clock.Now();
  return true;
}

void DesiredStore::Write(const std::string& uid) {
  if (MoveFile(uid, FileEvent::kChanged)) Save(uid);
}

void DesiredStore::Save(const std::string& uid) {
  const RecordKey key = RecordKey::OfUid(uid);
  asker_.Ask(
      StrandOf(key),
      [key, records = deps_.records, bytes = RecordOf(uid).SerializeAsString()] {
        return SaveRecord(*records, key, bytes);
      },
      [this, uid](const Status& saved) { OnSaved(uid, saved); });
}

void DesiredStore::OnSaved(const std::string& uid, const Status& saved) {
  if (MoveFile(uid, saved.ok() ? FileEvent::kWritten : FileEvent::kFailed)) return Save(uid);
  if (!saved.ok()) RetryLater(uid, saved, [this, uid] { Write(uid); });
  if (saved.ok()) {
    progress_[uid].error.clear();
    unreadable_.erase(RecordKey::OfUid(uid));  // a broken file was replaced
  }
  // REMOVED does not wait for a full disk: the source shows again that the pod is gone.
  if (saved.ok() || pods_.at(uid).IsRemoved()) PutDesired(uid);
}

void DesiredStore::RetryLater(const std::string& uid, const Status& status, exec::Task again) {
  deps_.metrics.record_errors.Increment();
  Progress& progress = progress_[uid];
  const std::string before = std::exchange(progress.error, ToString(status));
  if (progress.error != before)
    deps_.env.log.Error("cannot save the record of a pod, will retry",
                        {KV("podUID", uid), KV("err", progress.error), TraceField(uid)});
  progress.retry = deps_.env.loop.RunAfter(kRetry, std::move(again));
}

void DesiredStore::PutDesired(const std::string& uid) {
  const Status put =
      PutRecord(deps_.table, RecordKey::OfUid(uid), RecordOf(uid), pods_.at(uid).traceparent);
  if (!put.ok()) {
    deps_.metrics.put_errors.Increment();
    deps_.env.log.Error("cannot publish the pod in `desired`, readers keep its last record",
                        {KV("podUID", uid), KV("err", put), TraceField(uid)});
    return;
  }
  progress_[uid].put = true;
  on_put_(uid);
}

LogField DesiredStore::TraceField(const std::string& uid) const {
  const auto at = pods_.find(uid);  // a pod that is being forgotten is none of them
  return KV(kTraceIdField, at == pods_.end() ? std::string() : TraceIdOf(at->second.traceparent));
}

std::string DesiredStore::error() const {
  if (!load_error_.empty()) return load_error_;
  const Clock::Time now = deps_.env.clock.Now();
  if (loading_since_ && now - loading_since_ >= kDiskLimit)
    return fmt::format("read records: {}", NoAnswer(now - loading_since_));
  for (const auto& [uid, progress] : progress_) {
    if (progress.IsWriting() && now - progress.writing_since >= kDiskLimit)
      return fmt::format("save record {}: {}", uid, NoAnswer(now - progress.writing_since));
    if (!progress.error.empty()) return progress.error;
  }
  return {};
}

void DesiredStore::Withdraw(const std::string& uid, const std::string& traceparent) {
  // Until the file says REMOVED, a restart would take the pod for a wanted one. OnSaved puts the
  // record then, and that leads here again.
  if (progress_[uid].file != FileState::kWritten) return;
  const int64_t incarnation = pods_.at(uid).incarnation;
  RemoveDesired(uid, traceparent);
  withdrawn_[RecordKey::OfUid(uid)] = {uid, incarnation};
  on_put_(uid);
}

void DesiredStore::RemoveDesired(const std::string& uid, const std::string& traceparent) {
  FAIL_POINT_VOID("config-source.remove.before");
  deps_.table.Remove(RecordKey::OfUid(uid).name(), traceparent);
  FAIL_POINT_VOID("config-source.remove.after");
  progress_.erase(uid);
  pods_.erase(uid);
}

std::optional<int64_t> DesiredStore::WithdrawnIncarnation(const std::string& uid) const {
  const auto at = withdrawn_.find(RecordKey::OfUid(uid));
  if (at == withdrawn_.end()) return std::nullopt;
  return at->second.incarnation;
}

void DesiredStore::Forget(const RecordKey& key) {
  const auto at = withdrawn_.find(key);
  if (at == withdrawn_.end()) return;
  const std::string uid = at->second.uid;
  if (progress_[uid].IsWriting()) return;
  MoveFile(uid, FileEvent::kChanged);
  asker_.Ask(
      StrandOf(key), [key, records = deps_.records] { return ForgetRecord(*records, key); },
      [this, uid](const Status& forgotten) { OnForgotten(uid, forgotten); });
}

void DesiredStore::OnForgotten(const std::string& uid, const Status& forgotten) {
  // Added again in between.
  if (MoveFile(uid, forgotten.ok() ? FileEvent::kWritten : FileEvent::kFailed)) return Save(uid);
  const RecordKey key = RecordKey::OfUid(uid);
  if (!forgotten.ok()) {
    RetryLater(uid, forgotten, [this, key] { Forget(key); });
    return;
  }
  withdrawn_.erase(key);
  progress_.erase(uid);
}

v1::DesiredRecord DesiredStore::RecordOf(const std::string& uid) const {
  const DesiredPod& pod = pods_.at(uid);
  v1::DesiredRecord record;
  record.set_uid(uid);
  record.set_name(pod.name);
  record.set_namespace_(pod.name_space);
  record.set_source(pod.source);
  record.set_origin(ToText(pod.origin));  // file names are any bytes
  record.set_incarnation(pod.incarnation);
  record.set_generation(pod.generation);
  record.set_state(RecordStateOf(pod.state));
  record.set_pod(*pod.pod);
  record.set_seen_at_wall_ns(ToNanos(pod.seen_at));
  record.set_problem(ToText(pod.problem));
  const Clock::Time now = deps_.env.clock.Now();
  record.mutable_put_at()->set_boot(now.boot);
  record.mutable_put_at()->set_monotonic_ns(now.monotonic.count());
  return record;
}

std::unique_ptr<v1::DesiredRecord> DesiredStore::Get(const std::string& uid) const {
  if (!pods_.contains(uid)) return nullptr;
  if (auto put = deps_.table.Get(RecordKey::OfUid(uid).name())) return put;
  return std::make_unique<v1::DesiredRecord>(RecordOf(uid));
}

void DesiredStore::SetComplete(std::set<std::string> scopes) {
  if (deps_.table.completeness().scopes == scopes) return;
  FAIL_POINT_VOID("config-source.complete.before");
  bus::Completeness completeness;
  completeness.scopes = std::move(scopes);
  deps_.table.SetComplete(std::move(completeness));
  FAIL_POINT_VOID("config-source.complete.after");
}

}  // namespace splitlet::config_source
