#include "services/sync-loop/metrics.h"

namespace splitlet::sync_loop {
namespace {

prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry, const char* name,
                                              const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry, const char* name,
                                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

}  // namespace

SyncLoopMetrics::SyncLoopMetrics(prometheus::Registry& registry,
                                 const std::vector<std::string>& reasons)
    : desired_pods(
          Gauges(registry, "kubelet_desired_pods", "Pods that a source wants on this node.")),
      active_pods(Gauges(registry, "kubelet_active_pods",
                         "Admitted pods whose worker has not terminated.")),
      mirror_pods(
          Gauges(registry, "kubelet_mirror_pods", "Mirror pods at the API server.").Add({})),
      waiting_pods(
          Gauges(registry, "splitlet_sync_loop_waiting_pods", "Pods that wait for admission.")
              .Add({})),
      unmanaged_pods(Gauges(registry, "splitlet_sync_loop_foreign_pods",
                            "Pods in the runtime that another program made.")
                         .Add({})),
      rejections(
          Counters(registry, "kubelet_admission_rejections_total", "Rejected pods, by reason.")),
      preemptions(Counters(registry, "kubelet_preemptions",
                           "Pods preempted for a critical pod, by the resource that it lacked.")),
      restarted_pods(Counters(registry, "kubelet_restarted_pods_total",
                              "Pods admitted in a further incarnation.")),
      orphans(Counters(registry, "kubelet_orphaned_runtime_pods_total",
                       "Killed runtime pods that no source wanted.")
                  .Add({})),
      calls(Counters(registry, "splitlet_sync_loop_calls_total",
                     "Calls to pod-worker, by operation and result.")) {
  // At 0 from the start, so that the first refusal for a reason is an increase.
  for (const std::string& reason : reasons) rejections.Add({{"reason", reason}});
  for (const char* is_static : {"", "true"}) {
    desired_pods.Add({{"static", is_static}});
    active_pods.Add({{"static", is_static}});
    restarted_pods.Add({{"static", is_static}});
  }
}

}  // namespace splitlet::sync_loop
