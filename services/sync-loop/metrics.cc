#include "services/sync-loop/metrics.h"

#include <string>

#include "services/sync-loop/admission/rules.h"

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

SyncLoopMetrics::SyncLoopMetrics(prometheus::Registry& registry)
    : desired_pods(Gauges(registry, "kubelet_desired_pods", "Pods wanted by their sources.")),
      active_pods(
          Gauges(registry, "kubelet_active_pods", "Admitted pods that still take resources.")),
      mirror_pods(Gauges(registry, "kubelet_mirror_pods", "Mirror pods known.").Add({})),
      waiting_pods(
          Gauges(registry, "splitlet_sync_loop_waiting_pods", "Pods that wait to be judged.")
              .Add({})),
      unmanaged_pods(Gauges(registry, "splitlet_sync_loop_foreign_pods",
                            "Runtime pods left alone: made by nobody here.")
                         .Add({})),
      rejections(
          Counters(registry, "kubelet_admission_rejections_total", "Pods refused, by reason.")),
      preemptions(Counters(registry, "kubelet_preemptions",
                           "Pods ended for a critical one, by what it lacked.")),
      restarted_pods(
          Counters(registry, "kubelet_restarted_pods_total", "Pods that began a further life.")),
      orphans(Counters(registry, "kubelet_orphaned_runtime_pods_total",
                       "Runtime pods killed that nobody wanted.")
                  .Add({})),
      calls(Counters(registry, "splitlet_sync_loop_calls_total",
                     "Calls to pod-worker, by operation and result.")) {
  // From the beginning, so that the first refusal of its reason is an increase.
  for (const std::string& reason : ReasonLabels()) rejections.Add({{"reason", reason}});
  for (const char* is_static : {"", "true"}) {
    desired_pods.Add({{"static", is_static}});
    active_pods.Add({{"static", is_static}});
    restarted_pods.Add({{"static", is_static}});
  }
}

}  // namespace splitlet::sync_loop
