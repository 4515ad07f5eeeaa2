#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/hash.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

std::string KillId(const OrphanWatch::Suspect& suspect) {
  std::string ids;
  for (const auto& id : suspect.sandboxes) ids += id + ",";
  return fmt::format("sync-loop/orphan/{}/{}/{}", suspect.key, suspect.incarnation, HexHash(ids));
}

/// The scope of `desired` that says whether its pod is still wanted; of a pod that was refused,
/// all.
std::string SourceOf(const AdmissionBook::Entry& entry) {
  kube::Pod pod;
  if (entry.fact.pod().empty() || !pod.ParseFromString(entry.fact.pod()))
    return std::string(bus::kAll);
  const auto& annotations = pod.metadata().annotations();
  const auto source = annotations.find(std::string(kube::kConfigSource));
  return source == annotations.end() ? std::string(bus::kAll) : source->second;
}

/// Asks again, then kills. NOT killed is told as FAILED_PRECONDITION.
Status KillUnlessWanted(bus::DesiredOwner& config_source, WorkerClient& worker,
                        const v1::KillPodRequest& request, const Deadline& deadline) {
  FAIL_POINT("sync-loop.kill-orphan.before");
  ASSIGN_OR_RETURN(const bool known, config_source.Knows(request.uid(), deadline),
                   "ask config-source");
  if (known) return FailedPrecondition("config-source wants it");
  RETURN_IF_ERROR(worker.KillPod(request, deadline, /*traceparent=*/""), "KillPod");
  FAIL_POINT("sync-loop.kill-orphan.after");
  return OkStatus();
}

}  // namespace

std::vector<OrphanWatch::Suspect> SyncLoopService::Suspects() const {
  std::vector<OrphanWatch::Suspect> suspects;
  for (const auto& [key, pod] : runtime_) {
    if (deps_.desired.Contains(key) || workers_.contains(key) || book_.IsUnreadable(key)) continue;
    if (!pod.running || !pod.looked_at || deps_.runtime.completeness().not_vouched.contains(key))
      continue;
    auto sandboxes = OwnSandboxes(pod, orphan_options_);
    if (!sandboxes.empty()) suspects.push_back({.key = key, .sandboxes = std::move(sandboxes)});
  }
  for (const auto& [key, worker] : workers_) {
    if (deps_.desired.Contains(key) || worker.state != WorkerFacts::State::kSyncing) continue;
    suspects.push_back({.key = key, .incarnation = worker.incarnation});
  }
  return suspects;
}

void SyncLoopService::LookForOrphans() {
  const bool all_known = deps_.desired.LiveAndComplete() && deps_.workers.LiveAndComplete() &&
                         deps_.runtime.LiveAndComplete() && book_.was_read();
  if (!all_known) {
    orphans_.Reset();
    return;
  }
  for (const auto& suspect : orphans_.Pass(Suspects(), deps_.clock.Now())) {
    if (!killing_.contains(suspect.key)) Kill(suspect);
  }
}

void SyncLoopService::Kill(const OrphanWatch::Suspect& suspect) {
  v1::KillPodRequest request;
  request.set_request_id(KillId(suspect));
  request.set_incarnation(suspect.incarnation);
  request.set_reason("Orphaned");
  request.set_message("No source wants the pod.");
  if (suspect.incarnation == 0) {
    const RuntimeFacts& pod = runtime_.at(suspect.key);
    request.set_uid(pod.uid);
    request.set_has_grace(true);
    request.set_grace_period_seconds(pod.grace_seconds);
    for (const auto& id : suspect.sandboxes) request.add_sandbox_ids(id);
  } else {
    request.set_uid(workers_.at(suspect.key).uid);
  }
  killing_.insert(suspect.key);
  deps_.strands.Run("call/" + suspect.key, [this, suspect, request = std::move(request),
                                            deadline = After(deps_.clock, kCallTimeout)] {
    const Status status = KillUnlessWanted(*deps_.config_source, *deps_.worker, request, deadline);
    deps_.loop.Post([this, suspect, status] { OnKilled(suspect, status); });
  });
}

void SyncLoopService::OnKilled(const OrphanWatch::Suspect& suspect, const Status& status) {
  killing_.erase(suspect.key);
  orphans_.Restart(suspect.key);
  if (!status.ok()) {
    deps_.log.Warn("a pod that nobody wants is not killed",
                   {KV("podUID", suspect.key), KV("err", status)});
    return;
  }
  if (suspect.incarnation == 0) metrics_.orphans.Increment();
  deps_.log.Info("killing a pod that nobody wants",
                 {KV("podUID", suspect.key), KV("sandboxes", suspect.sandboxes.size())});
}

void SyncLoopService::ReportForeign() {
  foreign_.clear();
  for (const auto& [key, pod] : runtime_) {
    if (deps_.desired.Contains(key) || workers_.contains(key) || pod.sandboxes.empty()) continue;
    if (OwnSandboxes(pod, orphan_options_).empty()) foreign_.insert(key);
  }
  for (const auto& key : foreign_) {
    if (told_foreign_.contains(key)) continue;
    const RuntimeFacts& pod = runtime_.at(key);
    deps_.log.Warn("a pod that was not made here is left alone",
                   {KV("pod", kube::PodKey(pod.name_space, pod.name)), KV("podUID", pod.uid)});
  }
  told_foreign_ = foreign_;
}

bool SyncLoopService::IsOver(const std::string& key) const {
  if (deps_.desired.Contains(key)) return false;
  const WorkerFacts* worker = WorkerOf(key);
  return worker == nullptr || worker->state == WorkerFacts::State::kFinished;
}

void SyncLoopService::ForgetOldAdmissions() {
  if (!deps_.desired.live() || !deps_.workers.LiveAndComplete() || !book_.was_read()) return;
  std::vector<std::string> old;
  for (const auto& [key, entry] : book_.entries()) {
    const bool gone = removed_.contains(key) || deps_.desired.IsComplete(SourceOf(entry));
    if (gone && IsOver(key)) old.push_back(key);
  }
  for (const auto& key : book_.Broken()) {
    if (deps_.desired.IsComplete() && IsOver(key)) old.push_back(key);
  }
  for (const auto& key : old) {
    book_.Forget(key);
    preempted_.erase(key);
  }
  std::erase_if(removed_, [this](const std::string& key) { return book_.Find(key) == nullptr; });
}

void SyncLoopService::SetGauges() {
  std::map<bool, int> desired{{false, 0}, {true, 0}}, active{{false, 0}, {true, 0}};
  int mirrors = 0;
  for (const auto& [key, pod] : pods_) {
    if (pod.state == PodFacts::State::kMirror) ++mirrors;
    if (pod.state != PodFacts::State::kWanted) continue;
    ++desired[pod.is_static];
    const auto* entry = book_.Find(key);
    if (entry != nullptr && entry->admitted() && !HasStopped(key, entry->incarnation()))
      ++active[pod.is_static];
  }
  for (const bool is_static : {false, true}) {
    const prometheus::Labels labels{{"static", is_static ? "true" : ""}};
    metrics_.desired_pods.Add(labels).Set(desired[is_static]);
    metrics_.active_pods.Add(labels).Set(active[is_static]);
  }
  metrics_.mirror_pods.Set(mirrors);
  metrics_.waiting_pods.Set(static_cast<double>(waiting_.size()));
  metrics_.foreign_pods.Set(static_cast<double>(foreign_.size()));
}

}  // namespace splitlet::sync_loop
