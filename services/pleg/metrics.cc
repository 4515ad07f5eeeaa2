#include "services/pleg/metrics.h"

#include "libs/daemon/metric_families.h"

namespace splitlet::pleg {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets{.005, .01, .025, .05, .1, .25,
                                                       .5,   1,   2.5,  5,   10};

}  // namespace

PlegMetrics::PlegMetrics(prometheus::Registry& registry)
    : relist_seconds(daemon::AddHistogram(registry, "kubelet_pleg_relist_duration_seconds",
                                          "Time of one listing of all sandboxes and containers",
                                          kBuckets)),
      relist_interval(daemon::AddHistogram(
          registry, "kubelet_pleg_relist_interval_seconds",
          "Time from the start of the last good listing to the next", kBuckets)),
      pod_relist_seconds(daemon::AddHistogram(registry, "kubelet_pleg_pod_relist_duration_seconds",
                                              "Time of one inspection of a pod", kBuckets)),
      last_seen(daemon::AddGauge(registry, "kubelet_pleg_last_seen_seconds",
                                 "Unix time of the last good listing")),
      discarded_events(
          daemon::AddCounter(registry, "kubelet_pleg_discard_events",
                             "Runtime events dropped because too many waited for the loop")),
      running_pods(
          daemon::AddGauge(registry, "kubelet_running_pods", "Pods with a running sandbox")),
      running_containers(daemon::AddGauges(registry, "kubelet_running_containers",
                                           "Containers in the runtime by state")),
      stream_opened(daemon::AddCounter(registry, "kubelet_evented_pleg_connection_success_count",
                                       "Event streams of the runtime that opened")),
      stream_failed(daemon::AddCounter(registry, "kubelet_evented_pleg_connection_error_count",
                                       "Event streams of the runtime that failed or ended")),
      changes(daemon::AddCounters(registry, "splitlet_pleg_changes_total",
                                  "Changes of sandboxes and containers, by type")),
      event_source(daemon::AddGauges(registry, "splitlet_pleg_event_source",
                                     "1 for the source of runtime events that is in use")),
      inspect_errors(daemon::AddCounter(registry, "splitlet_pleg_inspect_errors_total",
                                        "Inspections of a pod that failed")),
      unvouched_pods(daemon::AddGauge(registry, "splitlet_pleg_unvouched_pods",
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
