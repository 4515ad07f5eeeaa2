#include "services/sync-loop/orphans/orphan_killer.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/hash.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::sync_loop {
namespace {

std::string KillId(const Suspect& suspect) {
  std::string ids;
  for (const auto& id : suspect.sandboxes) ids += id + ",";
  return fmt::format("sync-loop/orphan/{}/{}/{}", suspect.key, suspect.incarnation, HexHash(ids));
}

/// Asks config-source first (docs/safety.md, rule 8). FAILED_PRECONDITION: the pod was not killed.
Status KillUnlessWanted(peers::DesiredOwner& config_source, peers::GrantClient& worker,
                        const v1::KillPodRequest& request, const Deadline& deadline) {
  FAIL_POINT("sync-loop.kill-orphan.before");
  ASSIGN_OR_RETURN(const bool known, config_source.Knows(request.uid(), deadline),
                   "ask config-source");
  if (known) return FailedPrecondition("config-source wants the pod");
  RETURN_IF_ERROR(worker.KillPod(request, deadline, /*traceparent=*/""), "KillPod");
  FAIL_POINT("sync-loop.kill-orphan.after");
  return OkStatus();
}

}  // namespace

OrphanKiller::OrphanKiller(const Deps& deps, OrphanOptions options)
    : deps_(deps), options_(std::move(options)), asker_(deps.env.loop, deps.env.strands) {}

void OrphanKiller::OnTick() {
  FindOrphans();
  ReportUnmanaged();
}

bool OrphanKiller::IsAllKnown() const {
  return deps_.desired.LiveAndComplete() && deps_.workers.LiveAndComplete() &&
         deps_.runtime.LiveAndComplete() && deps_.store.was_read();
}

OrphanInput OrphanKiller::InputOf(const std::string& key) const {
  const auto runtime = deps_.known.runtime().find(key);
  return {.desired = deps_.desired.Contains(key),
          .unreadable = deps_.store.IsUnreadable(key),
          .vouched = !deps_.runtime.completeness().not_vouched.contains(key),
          .worker = deps_.known.Worker(key),
          .runtime = runtime == deps_.known.runtime().end() ? nullptr : &runtime->second};
}

std::vector<Suspect> OrphanKiller::Suspects() const {
  if (!IsAllKnown()) return {};
  std::set<std::string> keys;
  for (const auto& [key, pod] : deps_.known.runtime()) keys.insert(key);
  for (const auto& [key, worker] : deps_.known.workers()) keys.insert(key);
  std::vector<Suspect> suspects;
  for (const auto& key : keys)
    if (auto suspect = ComputeSuspect(key, InputOf(key), options_))
      suspects.push_back(*std::move(suspect));
  return suspects;
}

void OrphanKiller::FindOrphans() {
  if (!IsAllKnown()) {
    watch_.Reset();
    return;
  }
  const auto suspects = Suspects();
  std::erase_if(failures_, [&suspects](const auto& failure) {
    return std::ranges::none_of(
        suspects, [&failure](const Suspect& suspect) { return suspect.key == failure.first; });
  });
  for (const auto& suspect : watch_.Pass(suspects, deps_.env.clock.Now()))
    if (killing_.size() < peers::kOrphanKillsAtOnce && !killing_.contains(suspect.key))
      Kill(suspect);
}

void OrphanKiller::Kill(const Suspect& suspect) {
  v1::KillPodRequest request;
  request.set_request_id(KillId(suspect));
  request.set_incarnation(suspect.incarnation);
  request.set_reason("Orphaned");
  request.set_message("No source wants the pod.");
  if (suspect.incarnation == 0) {
    const RuntimeDigest& pod = deps_.known.runtime().at(suspect.key);
    request.set_uid(pod.uid);
    request.set_has_grace(true);
    request.set_grace_period_seconds(pod.grace_seconds);
    for (const auto& id : suspect.sandboxes) request.add_sandbox_ids(id);
  } else {
    request.set_uid(deps_.known.workers().at(suspect.key).uid);
  }
  killing_.insert(suspect.key);
  asker_.Ask(
      "call/" + suspect.key,
      [&config_source = deps_.config_source, &worker = deps_.worker, request = std::move(request),
       deadline = After(deps_.env.clock, peers::kGrantTimeout)] {
        return KillUnlessWanted(config_source, worker, request, deadline);
      },
      [this, suspect](const Status& status) { OnKilled(suspect, status); });
}

void OrphanKiller::OnKilled(const Suspect& suspect, const Status& status) {
  deps_.metrics.orphan_kills.Add({{"code", std::string(CodeName(status.code()))}}).Increment();
  killing_.erase(suspect.key);
  watch_.Restart(suspect.key);
  FindOrphans();  // a kill has ended: the next suspect may be killed
  if (!status.ok()) return ReportFailure(suspect, status);
  failures_.erase(suspect.key);
  if (suspect.incarnation == 0) deps_.metrics.orphans.Increment();
  deps_.env.log.Info("killing an orphaned pod",
                     {KV("podUID", suspect.key), KV("sandboxes", suspect.sandboxes.size())});
}

void OrphanKiller::ReportFailure(const Suspect& suspect, const Status& status) {
  const auto last = failures_.find(suspect.key);
  const bool repeated = last != failures_.end() && last->second == status.code();
  failures_[suspect.key] = status.code();
  if (repeated) return;
  deps_.env.log.Warn("killing an orphaned pod failed, will retry",
                     {KV("podUID", suspect.key), KV("err", status)});
}

void OrphanKiller::ReportUnmanaged() {
  unmanaged_.clear();
  for (const auto& [key, pod] : deps_.known.runtime())
    if (IsUnmanaged(InputOf(key), options_)) unmanaged_.insert(key);
  for (const auto& key : unmanaged_) {
    if (reported_unmanaged_.contains(key)) continue;
    const RuntimeDigest& pod = deps_.known.runtime().at(key);
    deps_.env.log.Warn("ignoring unmanaged pod",
                       {KV("pod", kube::PodKey(pod.name_space, pod.name)), KV("podUID", pod.uid)});
  }
  reported_unmanaged_ = unmanaged_;
}

}  // namespace splitlet::sync_loop
