#include "services/sync-loop/admission/admission_store.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"

namespace splitlet::sync_loop {
namespace {

constexpr const char* kReadKey = "(all)";  // no pod has this key

std::string FileStrand(const std::string& key) { return "file/" + key; }

Status SaveAdmission(const fs::RecordStore& store, const std::string& key,
                     const std::string& bytes) {
  FAIL_POINT("sync-loop.save-admission.before");
  RETURN_IF_ERROR(store.Save(key, bytes, /*sync=*/false), "admission");
  FAIL_POINT("sync-loop.save-admission.after");
  return OkStatus();
}

}  // namespace

AdmissionStore::AdmissionStore(const Deps& deps, std::string directory,
                               std::function<void(const std::string&)> saved)
    : deps_(deps),
      store_(deps.files, deps.clock, {.directory = std::move(directory), .this_boot_only = true}),
      saved_(std::move(saved)),
      backoff_(deps.clock, {.initial = 1s, .max = 30s}),
      retries_(deps.loop, deps.clock, [this](const std::string& key) {
        if (key == kReadKey) {
          Read(std::move(read_done_));
        } else if (entries_.contains(key)) {
          Save(key);
        }
      }) {}

void AdmissionStore::Read(std::function<void()> done) {
  read_done_ = std::move(done);
  deps_.strands.Run(FileStrand(kReadKey), [this] {
    auto all = store_.ReadAll();
    deps_.loop.Post([this, all = std::move(all)] { OnRead(all); });
  });
}

void AdmissionStore::OnRead(const StatusOr<fs::RecordStore::All>& all) {
  if (!all.ok()) {
    const Duration wait = backoff_.Next(kReadKey);
    deps_.log.Error("cannot read saved admissions, will retry",
                    {KV("err", all.status()), KV("retryInSeconds", wait / 1s)});
    retries_.Add(kReadKey, wait);
    return;
  }
  for (const auto& broken : all->unreadable) {
    unreadable_[broken.key] = broken.newer;
    deps_.log.Error("cannot read the saved admission of a pod, the pod waits",
                    {KV("podUID", broken.key), KV("err", broken.reason)});
  }
  for (const auto& saved : all->records) Restore(saved);
  read_ = true;
  deps_.table.SetComplete({.scopes = {std::string(bus::kAll)}});
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
  if (!entry.ok()) {
    unreadable_[saved.key] = false;
    deps_.log.Error("cannot read the saved admission of a pod, the pod waits",
                    {KV("podUID", saved.key), KV("err", "not a saved admission with a valid pod")});
    return;
  }
  PutAdmission(saved.key, *entry);
  entries_[saved.key] = *std::move(entry);
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
  deps_.strands.Run(FileStrand(key), [this, key, done = std::move(done)] {
    auto path = store_.PutAside(key);
    deps_.loop.Post([this, key, done, path = std::move(path)] {
      if (path.ok()) {
        unreadable_.erase(key);
        deps_.log.Warn("discarded an unreadable admission", {KV("podUID", key), KV("path", *path)});
      }
      done(path);
    });
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
  Save(key);
}

void AdmissionStore::Save(const std::string& key) {
  const Entry& entry = entries_.at(key);
  v1::SavedAdmission saved = entry.admission;
  saved.set_pod(entry.pod.bytes());
  deps_.strands.Run(
      FileStrand(key), [this, key, version = entry.version, bytes = saved.SerializeAsString()] {
        const Status status = SaveAdmission(store_, key, bytes);
        deps_.loop.Post([this, key, version, status] { OnSaved(key, version, status); });
      });
}

void AdmissionStore::OnSaved(const std::string& key, uint64_t version, const Status& status) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.version != version)
    return;  // forgotten or decided again during the save
  if (!status.ok()) {
    const Duration wait = backoff_.Next(key);
    deps_.log.Warn("cannot save an admission, will retry",
                   {KV("podUID", key), KV("err", status), KV("retryInSeconds", wait / 1s),
                    KV(kTraceIdField, TraceIdOf(it->second.traceparent))});
    retries_.Add(key, wait);
    return;
  }
  backoff_.Reset(key);
  it->second.saved = true;
  PutAdmission(key, it->second);
  saved_(key);
}

void AdmissionStore::PutAdmission(const std::string& key, const Entry& entry) {
  FAIL_POINT_VOID("sync-loop.put-admission.before");
  deps_.log.LogIfError(deps_.table.Put(key, entry.admission.record(), entry.traceparent),
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
  retries_.Remove(key);
  backoff_.Reset(key);
  deps_.table.Remove(key, traceparent);
  deps_.strands.Run(FileStrand(key), [this, key] {
    // If this fails, the next start reads the file and forgets it.
    deps_.log.LogIfError(store_.Forget(key), "forget admission");
  });
}

}  // namespace splitlet::sync_loop
