#include "services/sync-loop/metrics.h"

#include "libs/daemon/metric_families.h"

namespace splitlet::sync_loop {

SyncLoopMetrics::SyncLoopMetrics(prometheus::Registry& registry,
                                 const std::vector<std::string>& reasons)
    : desired_pods(daemon::AddGauges(registry, "kubelet_desired_pods",
                                     "Pods that a source wants on this node.")),
      active_pods(daemon::AddGauges(registry, "kubelet_active_pods",
                                    "Admitted pods whose worker has not terminated.")),
      mirror_pods(
          daemon::AddGauge(registry, "kubelet_mirror_pods", "Mirror pods at the API server.")),
      waiting_pods(daemon::AddGauge(registry, "splitlet_sync_loop_waiting_pods",
                                    "Pods that wait for admission.")),
      unmanaged_pods(daemon::AddGauge(registry, "splitlet_sync_loop_unmanaged_pods",
                                      "Pods in the runtime that another program made.")),
      rejections(daemon::AddCounters(registry, "kubelet_admission_rejections_total",
                                     "Rejected pods, by reason.")),
      preemptions(daemon::AddCounters(
          registry, "kubelet_preemptions",
          "Pods preempted for a critical pod, by the resource that it lacked.")),
      restarted_pods(daemon::AddCounters(registry, "kubelet_restarted_pods_total",
                                         "Pods admitted in a further incarnation.")),
      orphans(daemon::AddCounter(registry, "kubelet_orphaned_runtime_pods_total",
                                 "Killed runtime pods that no source wanted.")),
      orphan_kills(daemon::AddCounters(registry, "splitlet_sync_loop_orphan_kills_total",
                                       "Attempts to kill an orphan, by result.")),
      calls(daemon::AddCounters(registry, "splitlet_sync_loop_calls_total",
                                "Calls to pod-worker, by operation and result.")),
      file_errors(
          daemon::AddCounters(registry, "splitlet_sync_loop_file_errors_total",
                              "Files of admissions that could not be read, saved or removed.")) {
  // At 0 from the start, so that the first refusal for a reason is an increase.
  for (const std::string& reason : reasons) rejections.Add({{"reason", reason}});
  for (const char* operation : {"read", "save", "remove"})
    file_errors.Add({{"operation", operation}});
  for (const char* is_static : {"", "true"}) {
    desired_pods.Add({{"static", is_static}});
    active_pods.Add({{"static", is_static}});
    restarted_pods.Add({{"static", is_static}});
  }
}

}  // namespace splitlet::sync_loop
