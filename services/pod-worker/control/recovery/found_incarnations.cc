#include "services/pod-worker/control/recovery/found_incarnations.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/bus/bus.h"
#include "libs/cri/incarnation.h"
#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

void FoundIncarnations::AddStartTime(const v1::SavedPod& saved) {
  start_times_[saved.uid()] = saved;
}

void FoundIncarnations::OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                                        const std::vector<cri::Container>& containers) {
  std::map<std::string, FoundIncarnation> newest;
  for (const auto& [uid, saved] : start_times_)
    newest[uid] = {saved.name(), saved.namespace_(), saved.source(), saved.incarnation()};
  for (const auto& sandbox : sandboxes) {
    const int64_t incarnation = cri::IncarnationOf(sandbox.annotations);
    auto& found = newest[sandbox.pod_uid];
    if (incarnation > found.incarnation)
      found = {sandbox.pod_name, sandbox.pod_namespace,
               cri::LabelOf(sandbox.annotations, kube::kConfigSource), incarnation};
  }
  for (const auto& container : containers) {
    auto& found = newest[cri::LabelOf(container.labels, kube::kPodUidLabel)];
    const int64_t incarnation = cri::IncarnationOf(container.annotations);
    if (incarnation <= found.incarnation) continue;
    found.name = cri::LabelOf(container.labels, kube::kPodNameLabel);
    found.name_space = cri::LabelOf(container.labels, kube::kPodNamespaceLabel);
    found.incarnation = incarnation;
  }
  for (auto& [uid, found] : newest) {
    if (uid.empty() || found.incarnation == 0 || deps_.workers.Find(uid) != nullptr) continue;
    found_[uid] = std::move(found);
    PutWorkers(uid);
  }
}

const FoundIncarnation* FoundIncarnations::Find(const std::string& uid) const {
  const auto found = found_.find(uid);
  return found == found_.end() ? nullptr : &found->second;
}

std::string FoundIncarnations::UidOfKey(const std::string& key) const {
  const auto found = std::ranges::find_if(
      found_, [&key](const auto& entry) { return bus::KeyOf(entry.first) == key; });
  return found == found_.end() ? "" : found->first;
}

/// Without a state: it is no worker, and has nothing but its number.
void FoundIncarnations::PutWorkers(const std::string& uid) {
  if (deps_.unreadable.Contains(bus::KeyOf(uid))) return;
  FAIL_POINT_VOID("pod-worker.put-workers.before");
  const FoundIncarnation& found = found_.at(uid);
  v1::WorkerRecord record;
  record.set_uid(uid);
  record.set_name(found.name);
  record.set_namespace_(found.name_space);
  record.set_source(found.source);
  record.set_incarnation(found.incarnation);
  deps_.env.log.LogIfError(deps_.table.Put(bus::KeyOf(uid), record),
                           "publish recovered incarnation");
  FAIL_POINT_VOID("pod-worker.put-workers.after");
}

void FoundIncarnations::OnWorkerAdded(const Worker& worker) {
  if (worker.incarnation != 0) found_.erase(worker.uid);
}

void FoundIncarnations::HandOver(Worker& worker) {
  const auto old = start_times_.find(worker.uid);
  if (old != start_times_.end() && old->second.incarnation() == worker.incarnation &&
      old->second.start_time_wall_ns() != 0)
    BackdateStart(old->second.start_time_wall_ns(), worker);
  const auto begun = started_attempts_.find(worker.uid);
  if (begun != started_attempts_.end() && begun->second.incarnation == worker.incarnation)
    worker.started_attempts = begun->second.attempts;
  Forget(worker.uid);
}

void FoundIncarnations::Forget(const std::string& uid) {
  start_times_.erase(uid);
  started_attempts_.erase(uid);
}

void FoundIncarnations::ForgetForEver(const std::string& uid) {
  Forget(uid);
  deps_.env.strands.Run(RecordsStrand(uid), [this, uid] {
    deps_.env.log.LogIfError(deps_.records.ForgetPermanent(uid),
                             "remove the permanent records of a pod");
  });
}

void FoundIncarnations::Collect() {
  CollectStartTimes();
  CollectFound();
}

/// A found incarnation is forgotten when no source wants the pod and the runtime shows nothing of
/// it.
void FoundIncarnations::CollectFound() {
  for (const auto& [uid, found] : found_) {
    const std::string key = bus::KeyOf(uid);
    if (deps_.unreadable.Contains(key)) continue;
    const std::string scope = found.source.empty() ? std::string(bus::kAll) : found.source;
    if (deps_.desired.Contains(key) || !deps_.desired.LiveAndComplete(scope)) continue;
    runtime_asker_.Ask(
        "found/" + uid, [&runtime = deps_.runtime, uid = uid] { return runtime.Inspect(uid); },
        [this, uid = uid, key](const StatusOr<v1::ObservedPod>& seen) {
          if (!seen.ok() || seen->sandboxes_size() + seen->containers_size() > 0) return;
          if (!deps_.unreadable.Contains(key) && found_.erase(uid) > 0) deps_.table.Remove(key);
        });
  }
}

/// Start times of pods that went while nothing of this node ran: never granted again, they have no
/// worker that would forget them.
void FoundIncarnations::CollectStartTimes() {
  for (const auto& [uid, saved] : start_times_) {
    const std::string key = bus::KeyOf(uid);
    if (deps_.desired.Contains(key) || !deps_.desired.LiveAndComplete(saved.source())) continue;
    deps_.owner.WhenGone(uid, saved.source(), [this, uid = uid, key] {
      if (start_times_.contains(uid) && !deps_.desired.Contains(key)) ForgetForEver(uid);
    });
  }
}

}  // namespace splitlet::pod_worker
