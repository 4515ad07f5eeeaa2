#include "services/sync-loop/admission/admission_store.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"

namespace splitlet::sync_loop {
namespace {

constexpr const char* kStrands = "file/";  // prefix of the strand of each key
constexpr const char* kAll = "(all)";      // no pod has this key
constexpr exec::Backoff::Options kRetry = {.initial = 1s, .max = 30s};

Status SaveAdmission(const fs::RecordStore& store, const std::string& key,
                     const std::string& bytes) {
  FAIL_POINT("sync-loop.save-admission.before");
  RETURN_IF_ERROR(store.Save(key, bytes, /*sync=*/false), "admission");
  FAIL_POINT("sync-loop.save-admission.after");
  return OkStatus();
}

fs::RecordWriter::Files FilesOf(const std::shared_ptr<const fs::RecordStore>& store) {
  return {.save = [store](const std::string& key,
                          const std::string& bytes) { return SaveAdmission(*store, key, bytes); },
          .forget = [store](const std::string& key) { return store->Forget(key); }};
}

/// The pod is beside the admission in memory, and in it on disk.
std::string SavedBytes(const AdmissionStore::Entry& entry) {
  v1::SavedAdmission saved = entry.admission;
  saved.set_pod(entry.pod.bytes());
  return saved.SerializeAsString();
}

}  // namespace

AdmissionStore::AdmissionStore(const Deps& deps, std::string directory,
                               std::function<void(const std::string&)> saved)
    : deps_(deps),
      store_(std::make_shared<const fs::RecordStore>(
          deps.files, deps.env.clock,
          fs::RecordStore::Options{.directory = std::move(directory), .this_boot_only = true})),
      saved_(std::move(saved)),
      read_backoff_(deps.env.clock, kRetry),
      writer_(deps.env, FilesOf(store_), {.strand = kStrands, .backoff = kRetry},
              [this](const std::string& key, const fs::RecordWriter::Failure& failure) {
                OnWriteFailed(key, failure);
              }),
      asker_(deps.env.loop, deps.env.strands) {}

void AdmissionStore::Read(std::function<void()> done) {
  read_done_ = std::move(done);
  asker_.Ask(
      std::string(kStrands) + kAll, [store = store_] { return store->ReadAll(); },
      [this](const StatusOr<fs::RecordStore::All>& all) { OnRead(all); });
}

void AdmissionStore::OnRead(const StatusOr<fs::RecordStore::All>& all) {
  if (!all.ok()) {
    const Duration wait = read_backoff_.Next(kAll);
    CountFileError("read");
    if (std::string error = ToString(all.status()); std::exchange(read_error_, error) != error)
      deps_.env.log.Error("cannot read saved admissions, will retry",
                          {KV("err", all.status()), KV("retryInSeconds", wait / 1s)});
    asker_.RunAfter(wait, [this] { Read(std::move(read_done_)); });
    return;
  }
  for (const auto& broken : all->unreadable) OnUnreadable(broken.key, broken.newer, broken.reason);
  for (const auto& saved : all->records) Restore(saved);
  read_ = true;
  FAIL_POINT_VOID("sync-loop.complete.before");
  deps_.table.SetComplete({.scopes = {std::string(bus::kAll)}});
  FAIL_POINT_VOID("sync-loop.complete.after");
  std::exchange(read_done_, nullptr)();
}

StatusOr<AdmissionStore::Entry> AdmissionStore::ReadEntry(const std::string& bytes) {
  Entry entry{.saved = true, .earlier = true};
  if (!entry.admission.ParseFromString(bytes)) return DataLoss("not a saved admission");
  ASSIGN_OR_RETURN(auto pod, kube::PodBytes::CheckAndParse(entry.admission.pod()), "pod");
  ASSIGN_OR_RETURN(auto requests, RequestsOf(*pod.pod), "requests");
  entry.admission.clear_pod();
  entry.pod = std::move(pod.bytes);
  if (entry.admitted()) entry.requests = std::move(requests);
  return entry;
}

void AdmissionStore::Restore(const fs::RecordStore::Record& saved) {
  auto entry = ReadEntry(saved.bytes);
  if (!entry.ok()) return OnUnreadable(saved.key, /*newer=*/false, ToString(entry.status()));
  PutAdmission(saved.key, *entry);
  entries_[saved.key] = *std::move(entry);
}

void AdmissionStore::OnUnreadable(const std::string& key, bool newer, const std::string& error) {
  unreadable_[key] = newer;
  CountFileError("read");
  deps_.env.log.Error("cannot read the saved admission of a pod, the pod waits",
                      {KV("podUID", key), KV("err", error)});
}

void AdmissionStore::CountFileError(const char* operation) {
  deps_.metrics.file_errors.Add({{"operation", operation}}).Increment();
}

std::vector<std::string> AdmissionStore::Broken() const {
  std::vector<std::string> keys;
  for (const auto& [key, newer] : unreadable_)
    if (!newer) keys.push_back(key);
  return keys;
}

std::vector<std::string> AdmissionStore::Unreadable() const {
  std::vector<std::string> keys;
  for (const auto& [key, newer] : unreadable_) keys.push_back(key);
  return keys;
}

void AdmissionStore::PutAside(const std::string& key,
                              std::function<void(StatusOr<std::string>)> done) {
  if (!unreadable_.contains(key)) return done(NotFound("the pod has no unreadable admission"));
  asker_.Ask(
      kStrands + key, [store = store_, key] { return store->PutAside(key); },
      [this, key, done = std::move(done)](const StatusOr<std::string>& path) {
        if (path.ok()) {
          unreadable_.erase(key);
          deps_.env.log.Warn("discarded an unreadable admission",
                             {KV("podUID", key), KV("path", *path)});
        }
        done(path);
      });
}

const AdmissionStore::Entry* AdmissionStore::Find(const std::string& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

AdmissionState AdmissionStore::StateOf(const std::string& key, int64_t incarnation) const {
  const Entry* entry = Find(key);
  if (entry == nullptr || entry->incarnation() != incarnation || entry->waiting())
    return AdmissionState::kWaiting;
  return entry->saved ? AdmissionState::kDecided : AdmissionState::kSaving;
}

void AdmissionStore::Decide(const std::string& key, Decided decided) {
  Entry& entry = entries_[key];
  const bool waited =
      entry.waiting() && entry.incarnation() == decided.admission.record().incarnation();
  const bool announced = waited && (entry.saved || entry.announced);
  entry = {.admission = std::move(decided.admission),
           .version = ++last_version_,
           .traceparent = std::move(decided.traceparent)};
  if (entry.admitted()) {
    entry.pod = std::move(decided.pod);
    entry.requests = std::move(decided.requests);
  }
  entry.announced = announced && entry.waiting();
  writer_.Save(key, SavedBytes(entry),
               [this, key, version = entry.version] { OnSaved(key, version); });
}

void AdmissionStore::OnSaved(const std::string& key, uint64_t version) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.version != version) return;  // decided again since
  it->second.saved = true;
  PutAdmission(key, it->second);
  saved_(key);
}

void AdmissionStore::OnWriteFailed(const std::string& key,
                                   const fs::RecordWriter::Failure& failure) {
  const auto it = entries_.find(key);
  const bool removal = failure.retry_in == Duration{0};
  CountFileError(removal ? "remove" : "save");
  if (removal) {
    // The next start reads the file and forgets it.
    deps_.env.log.LogIfError(failure.status, "forget admission");
  } else if (it != entries_.end() && !failure.repeated) {
    deps_.env.log.Warn(
        "cannot save an admission, will retry",
        {KV("podUID", key), KV("err", failure.status), KV("retryInSeconds", failure.retry_in / 1s),
         KV(kTraceIdField, TraceIdOf(it->second.traceparent))});
  }
}

void AdmissionStore::PutAdmission(const std::string& key, const Entry& entry) {
  FAIL_POINT_VOID("sync-loop.put-admission.before");
  deps_.env.log.LogIfError(deps_.table.Put(key, entry.admission.record(), entry.traceparent),
                           "put admission");
  FAIL_POINT_VOID("sync-loop.put-admission.after");
}

void AdmissionStore::SetTrace(const std::string& key, const std::string& traceparent) {
  const auto it = entries_.find(key);
  if (it != entries_.end() && !traceparent.empty()) it->second.traceparent = traceparent;
}

void AdmissionStore::Forget(const std::string& key) {
  const auto it = entries_.find(key);
  const std::string traceparent = it == entries_.end() ? "" : it->second.traceparent;
  entries_.erase(key);
  unreadable_.erase(key);
  FAIL_POINT_VOID("sync-loop.remove-admission.before");
  deps_.table.Remove(key, traceparent);
  FAIL_POINT_VOID("sync-loop.remove-admission.after");
  writer_.Forget(key);
}

}  // namespace splitlet::sync_loop
