#include "services/gc/collect/containers/container_gc.h"

#include <algorithm>
#include <utility>

#include "libs/peers/worker_standing.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {

void ContainerGc::Collect(RemovalOrder order, Finish finish) {
  asker_.Ask(
      std::string(kRoundStrand),
      [&files = deps_.remover.files, &reader = deps_.remover.reader, &clock = deps_.env.clock,
       &config = config_] { return ReadInventory(files, reader, clock, config); },
      [this, order, finish = std::move(finish)](const StatusOr<Inventory>& inventory) {
        OnInventory(inventory, order, finish);
      });
}

std::string ContainerGc::RuntimeProblem() const {
  if (!runtime_problem_.empty()) return runtime_problem_;
  return listed_ ? "" : "the runtime has not been listed yet";
}

Scope ContainerGc::ScopeOfPod(const std::string& uid, const PodTraces& traces,
                              bool short_of_disk) const {
  const std::string key = bus::KeyOf(uid);
  const auto desired = deps_.desired.Find(key);
  const auto worker = deps_.workers.Find(key);
  const bool has_worker =
      !peers::IsNoWorker(peers::ComputeWorkerStanding(deps_.workers.Contains(key), worker.get()));
  // For a pod without a known source, all sources must be complete.
  const std::string_view scope = traces.source.empty() ? bus::kAll : traces.source;
  return ComputeScope(
      {.desired = {deps_.desired.Contains(key), desired.get()},
       .worker = {has_worker, worker.get()},
       .views_complete = deps_.desired.LiveAndComplete(scope) && deps_.workers.LiveAndComplete(),
       .ours = traces.ours,
       .kill_unmanaged_pods = config_.kill_unmanaged_pods,
       .short_of_disk = short_of_disk});
}

/// Reads the views after the listing: a pod that was created in between is in the views or is
/// missing in the listing.
void ContainerGc::OnInventory(const StatusOr<Inventory>& inventory, RemovalOrder order,
                              const Finish& finish) {
  CHECK(deps_.env.loop.IsCurrent());
  if (!inventory.ok()) {
    Report report;
    report.dry_run = order.dry_run;
    report.at = deps_.env.clock.WallNow();
    report.error = ToString(inventory.status());
    deps_.node_events.Warn("ContainerGCFailed", report.error);
    runtime_problem_ = report.error;
    OnRemoved(report);
    return finish(report);
  }
  listed_ = true;
  runtime_problem_.clear();
  Inventory listed = *inventory;
  listed.unknown_before = unknown_;
  listed.stuck_before = last_.stuck;
  RemovalPlan plan = ComputeRemovals(
      listed,
      [this, order](const std::string& uid, const PodTraces& traces) {
        return ScopeOfPod(uid, traces, order.short_of_disk);
      },
      config_, deps_.env.clock.WallNow());
  if (!order.dry_run) unknown_ = plan.unknown;
  for (const auto& problem : listed.problems) plan.kept.push_back(problem);
  deps_.metrics.unmanaged_pods.Set(static_cast<double>(plan.unmanaged_pods));
  const Clock::Time began = deps_.env.clock.Now();
  asker_.Ask(
      std::string(kRoundStrand),
      [deps = deps_.remover, &config = config_, dry_run = order.dry_run, plan = std::move(plan),
       listed = std::move(listed)] {
        Remover remover(deps, config);
        return dry_run ? remover.Describe(plan) : remover.Run(plan, listed);
      },
      [this, finish, began](const Report& report) {
        deps_.metrics.ObserveRound("removal", deps_.env.clock.Now() - began);
        CountOrphans(report);
        OnRemoved(report);
        finish(report);
      });
}

void ContainerGc::CountOrphans(const Report& report) {
  if (report.dry_run) return;
  size_t all = report.blocked_pod_dirs, stay = report.blocked_pod_dirs;
  for (const auto& item : report.items) {
    if (item.kind != "pod-dir") continue;
    ++all;
    if (!item.removed) ++stay;
  }
  deps_.metrics.orphans.Set(static_cast<double>(all));
  deps_.metrics.orphan_errors.Set(static_cast<double>(stay));
}

void ContainerGc::OnRemoved(const Report& report) {
  if (report.dry_run) return;
  deps_.removal_log.Record(RemovalLog::Part::kContainers, report);
  if (!report.error.empty() && report.error != last_.error)
    deps_.env.log.Warn("container garbage collection ended early; the next round tries again",
                       {KV("err", report.error)});
  for (const auto& line : report.kept) {
    if (std::ranges::find(last_.kept, line) == last_.kept.end())
      deps_.env.log.Info("skipping removal", {KV("reason", line)});
  }
  last_ = report;
}

}  // namespace splitlet::gc
