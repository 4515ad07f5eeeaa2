#include "services/pod-worker/control/recovery/unreadable_records.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/bus/bus.h"
#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

std::string WayOut(const std::string& key) {
  return fmt::format("\"splitletctl record discard {}\" puts it aside", key);
}

/// The runtime shows nothing of the pod.
StatusOr<bool> ShowsNothingOf(cri::Reader& reader, const std::string& key,
                              const Deadline& deadline) {
  ASSIGN_OR_RETURN(const auto sandboxes, reader.ListPodSandbox("", deadline), "sandboxes");
  ASSIGN_OR_RETURN(const auto containers, reader.ListContainers({}, deadline), "containers");
  const auto of_pod = [&key](const std::string& uid) { return bus::KeyOf(uid) == key; };
  return std::ranges::none_of(sandboxes, of_pod, &cri::Sandbox::pod_uid) &&
         std::ranges::none_of(containers, [&](const cri::Container& container) {
           return of_pod(cri::LabelOf(container.labels, kube::kPodUidLabel));
         });
}

/// The part of all records that is of this pod.
DiskRecords::All OfPod(const std::string& key, const DiskRecords::All& all) {
  const auto of_pod = [&key](const auto& saved) { return bus::KeyOf(saved.uid()) == key; };
  DiskRecords::All own;
  std::ranges::copy_if(all.workers, std::back_inserter(own.workers), of_pod);
  std::ranges::copy_if(all.permanent, std::back_inserter(own.permanent), of_pod);
  if (const auto restarts = all.restarts.find(key); restarts != all.restarts.end())
    own.restarts.insert(*restarts);
  std::ranges::copy_if(all.started_attempts,
                       std::inserter(own.started_attempts, own.started_attempts.end()),
                       [&key](const auto& entry) { return bus::KeyOf(entry.first) == key; });
  return own;
}

}  // namespace

void UnreadableRecords::OnRead(std::map<std::string, DiskRecords::All::Unknown> unreadable) {
  unreadable_ = std::move(unreadable);
  for (const auto& [key, what] : unreadable_) PutWorkers(key);
}

/// Present, of no known state, and in no incarnation: for every reader the pod is neither absent
/// nor over.
void UnreadableRecords::PutWorkers(const std::string& key) {
  FAIL_POINT_VOID("pod-worker.put-workers.before");
  v1::WorkerRecord record;
  record.set_uid(key);
  record.set_sync_error(
      fmt::format("its file cannot be read ({}): nothing is started or stopped; {}",
                  unreadable_.at(key).why, WayOut(key)));
  if (const auto desired = deps_.desired.Find(key); desired != nullptr) {
    record.set_name(desired->name());
    record.set_namespace_(desired->namespace_());
    record.set_source(desired->source());
  }
  deps_.env.log.LogIfError(deps_.table.Put(key, record), "publish a pod with an unreadable record");
  FAIL_POINT_VOID("pod-worker.put-workers.after");
}

std::vector<std::string> UnreadableRecords::Notes() const {
  std::vector<std::string> notes;
  for (const auto& [key, what] : unreadable_)
    notes.push_back(
        fmt::format("the file of pod {} cannot be read ({}); {}", key, what.why, WayOut(key)));
  return notes;
}

void UnreadableRecords::Collect() {
  if (!deps_.desired.LiveAndComplete()) return;
  for (const auto& [key, what] : unreadable_) {
    if (!deps_.desired.Contains(key)) {
      CollectOne(key, true);
      continue;
    }
    const auto desired = deps_.desired.Find(key);
    const bool removed = desired != nullptr && desired->state() == v1::DesiredRecord::REMOVED;
    if (removed) CollectOne(key, false);  // never taken back: no question is needed
  }
}

/// `ask`: whether config-source knows the pod, too.
void UnreadableRecords::CollectOne(const std::string& key, bool ask) {
  asker_.Ask(
      "unknown/" + key,
      [&owner = deps_.owner, &reader = deps_.reader, &clock = deps_.env.clock,
       limit = deps_.request_timeout, key, ask]() -> StatusOr<bool> {
        const Deadline deadline = After(clock, limit);
        if (ask) {
          const auto knows = owner.Knows(key, deadline);
          if (!knows.ok() || *knows) return false;
        }
        return ShowsNothingOf(reader, key, deadline);
      },
      [this, key](const StatusOr<bool>& gone) {
        if (!gone.ok() || !*gone || !unreadable_.contains(key)) return;
        Discard(key, [this, key](const StatusOr<std::vector<std::string>>& paths) {
          deps_.env.log.LogIfError(paths.status(), "put aside the unreadable record of a gone pod");
        });
      });
}

void UnreadableRecords::Discard(const std::string& key, Done done) {
  const auto found = unreadable_.find(key);
  if (found == unreadable_.end()) return done(NotFound("every file of the pod can be read"));
  asker_.Ask(
      "unknown/" + key,
      [&records = deps_.records, max = deps_.crash_loop_max, key, what = found->second] {
        auto paths = records.PutAside(key, what);
        return PutAside{std::move(paths), records.ReadAll(max)};
      },
      [this, key, done = std::move(done)](const PutAside& put) { OnPutAside(key, put, done); });
}

void UnreadableRecords::OnPutAside(const std::string& key, const PutAside& put, const Done& done) {
  const Status status = put.paths.ok() ? put.left.status() : put.paths.status();
  if (!status.ok()) return done(status);
  for (const auto& path : *put.paths)
    deps_.env.log.Warn("unreadable record put aside", {KV("podUID", key), KV("path", path)});
  if (unreadable_.erase(key) > 0) deps_.on_discarded(key, OfPod(key, *put.left));
  done(put.paths);
}

}  // namespace splitlet::pod_worker
