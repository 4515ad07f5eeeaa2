#include "services/pod-worker/cgroups/cgroup_keeper.h"

#include "libs/daemon/event_record.h"

namespace splitlet::pod_worker {

ClassRequests CgroupKeeper::SumOfPods() const {
  ClassRequests sum;
  for (const auto& [uid, worker] : deps_.workers)
    if (worker->state == WorkerState::kSyncing || worker->state == WorkerState::kTerminating)
      sum += worker->traits.class_requests;
  return sum;
}

void CgroupKeeper::OnPodsChanged() {
  if (deps_.cgroups.enabled()) SetShares();
}

/// Runs once at a time; changes during a run cause another one.
void CgroupKeeper::SetShares() {
  again_ = setting_;
  if (setting_) return;
  setting_ = true;
  struct Answer {
    Status limited, set;
  };
  const ClassRequests sum = SumOfPods();
  asker_.Ask(
      "cgroups",
      [&cgroups = deps_.cgroups, sum] {
        Status limited = cgroups.LimitAll();
        return Answer{std::move(limited), cgroups.SetShares(sum)};
      },
      [this, sum](const Answer& done) { OnSharesSet(done.limited, done.set, sum); });
}

void CgroupKeeper::NodeEvent(bool warning, const std::string& reason, const std::string& message) {
  deps_.events.Record(daemon::NodeEvent(
      deps_.node_name, {.reason = reason, .message = message, .warning = warning}));
}

void CgroupKeeper::ReportLimited(const Status& limited) {
  const std::string trouble = limited.ok() ? "" : Message(limited);
  const bool first = !limited_.has_value();
  if (limited_ == trouble) return;
  limited_ = trouble;
  if (deps_.cgroups.settings().enforced && limited.ok())
    NodeEvent(false, "NodeAllocatableEnforced", "Updated Node allocatable limit across pods");
  if (!limited.ok()) NodeEvent(true, "FailedNodeAllocatableEnforcement", trouble);
  if (!first) return;
  const auto& layout = deps_.cgroups.settings().layout;
  if (layout && layout->version == cgroup::Version::kV1)
    NodeEvent(true, "CgroupV1",
              "cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future "
              "release. Please migrate to cgroup v2. More information at "
              "https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1");
  // Prepare succeeded, or this process would not have started.
  for (const ReservedCgroup& each : deps_.cgroups.settings().reserved)
    NodeEvent(
        false, "NodeAllocatableEnforced",
        fmt::format("Updated limits on {} reserved cgroup {}",
                    each.of == "System" ? "system" : "kube", cgroup::CgroupfsPath(each.name)));
}

void CgroupKeeper::OnSharesSet(const Status& limited, const Status& set,
                               const ClassRequests& requests) {
  setting_ = false;
  if (set.ok()) memory_.Set(requests);
  ReportLimited(limited);
  const Status& status = limited.ok() ? set : limited;
  const std::string trouble = status.ok() ? "" : Message(status);
  if (!trouble.empty() && trouble != trouble_)
    deps_.env.log.Warn(
        "cannot set limits and CPU shares above the pods, will set them again in a minute",
        {KV("err", status)});
  trouble_ = trouble;
  if (again_) SetShares();
}

void CgroupKeeper::OnTick() {
  OnPodsChanged();
  asker_.Ask(
      "cgroups", [&cgroups = deps_.cgroups] { return cgroups.ListMarked(); },
      [this](const StatusOr<std::vector<std::string>>& uids) { OnMarkedListed(uids); });
}

void CgroupKeeper::OnMarkedListed(const StatusOr<std::vector<std::string>>& uids) {
  if (!uids.ok()) return deps_.env.log.LogIfError(uids.status(), "list the marked cgroups of pods");
  for (const std::string& uid : *uids) {
    if (!deps_.is_forgotten(uid)) continue;
    deps_.runtime_strands.Run(uid, [this, uid] {
      deps_.env.log.LogIfError(DestroyForgotten(uid), "tear down the cgroup of a pod that is gone");
    });
  }
}

Status CgroupKeeper::DestroyForgotten(const std::string& uid) const {
  ASSIGN_OR_RETURN(const auto sandboxes,
                   deps_.reader.ListPodSandbox(uid, After(deps_.env.clock, deps_.request_timeout)),
                   "look for sandboxes of {}", uid);
  for (const auto& sandbox : sandboxes)
    if (sandbox.state == cri::SandboxState::kReady) return OkStatus();
  return deps_.cgroups.Destroy(uid);
}

}  // namespace splitlet::pod_worker
