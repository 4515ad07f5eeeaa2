#include "services/pleg/metrics.h"

namespace splitlet::pleg {
namespace {

prometheus::Histogram& AddHistogram(prometheus::Registry& registry, const char* name,
                                    const char* help) {
  const prometheus::Histogram::BucketBoundaries buckets{.005, .01, .025, .05, .1, .25,
                                                        .5,   1,   2.5,  5,   10};
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

prometheus::Counter& AddCounter(prometheus::Registry& registry, const char* name,
                                const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& AddGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

PlegMetrics::PlegMetrics(prometheus::Registry& registry)
    : relist_seconds(AddHistogram(registry, "kubelet_pleg_relist_duration_seconds",
                                  "Time of one listing of all sandboxes and containers")),
      relist_interval(AddHistogram(registry, "kubelet_pleg_relist_interval_seconds",
                                   "Time from the start of the last good listing to the next")),
      pod_relist_seconds(AddHistogram(registry, "kubelet_pleg_pod_relist_duration_seconds",
                                      "Time of one inspection of a pod")),
      last_seen(AddGauge(registry, "kubelet_pleg_last_seen_seconds",
                         "Unix time of the last good listing")),
      discarded_events(AddCounter(registry, "kubelet_pleg_discard_events",
                                  "Runtime events dropped because too many waited for the loop")),
      running_pods(AddGauge(registry, "kubelet_running_pods", "Pods with a running sandbox")),
      running_containers(prometheus::BuildGauge()
                             .Name("kubelet_running_containers")
                             .Help("Containers in the runtime by state")
                             .Register(registry)),
      stream_opened(AddCounter(registry, "kubelet_evented_pleg_connection_success_count",
                               "Event streams of the runtime that opened")),
      stream_failed(AddCounter(registry, "kubelet_evented_pleg_connection_error_count",
                               "Event streams of the runtime that failed or ended")),
      changes(prometheus::BuildCounter()
                  .Name("splitlet_pleg_changes_total")
                  .Help("Changes of sandboxes and containers, by type")
                  .Register(registry)),
      event_source(prometheus::BuildGauge()
                       .Name("splitlet_pleg_event_source")
                       .Help("1 for the source of runtime events that is in use")
                       .Register(registry)),
      inspect_errors(AddCounter(registry, "splitlet_pleg_inspect_errors_total",
                                "Inspections of a pod that failed")),
      unvouched_pods(AddGauge(registry, "splitlet_pleg_unvouched_pods",
                              "Pods whose record is older than the last listing")) {
  for (const char* state : {"created", "running", "exited", "unknown"}) {
    running_containers.Add({{"container_state", state}});
  }
  for (const char* type :
       {"ContainerStarted", "ContainerDied", "ContainerRemoved", "ContainerChanged"}) {
    changes.Add({{"type", type}});
  }
  for (const char* source : {"cri", "containerd", "polling"})
    event_source.Add({{"source", source}});
}

}  // namespace splitlet::pleg
