#include "services/status/api/pod_metrics.h"

#include "libs/daemon/metric_families.h"
#include "services/status/start_buckets.h"

namespace splitlet::status {
namespace {

const prometheus::Histogram::BucketBoundaries kSyncBuckets = {0.01, 0.05, 0.1, 0.5, 1, 5,
                                                              10,   20,   30,  45,  60};

}  // namespace

PodApiMetrics::PodApiMetrics(prometheus::Registry& registry)
    : sync_duration(daemon::AddHistogram(
          registry, "kubelet_pod_status_sync_duration_seconds",
          "Time from the change of a pod's status until the API server has it", kSyncBuckets)),
      start_total(daemon::AddHistogram(
          registry, "kubelet_pod_start_total_duration_seconds",
          "Time from a pod's creation until the API server shows its containers running",
          kPodStartBuckets)),
      start_sli(daemon::AddHistogram(
          registry, "kubelet_pod_start_sli_duration_seconds",
          "Time to start without image pulls and init containers, for pods without "
          "volumes to attach",
          kPodStartBuckets)),
      first_network_start_sli(
          daemon::AddGauge(registry, "kubelet_first_network_pod_start_sli_duration_seconds",
                           "Time to start, as above, of the first pod with its own network")),
      unsent(daemon::AddGauge(registry, "splitlet_status_unsent_pods",
                              "Pods whose latest status the API server does not have yet")),
      errors(daemon::AddCounters(registry, "splitlet_status_api_errors_total",
                                 "Failed calls to the API server about pods")),
      mirrors(daemon::AddGauge(registry, "splitlet_status_mirror_pods",
                               "Mirror pods of this node at the API server")),
      events_sent(daemon::AddCounters(registry, "splitlet_status_events_sent_total",
                                      "Events for the API server, by result")) {
  for (const char* call : {"write", "delete", "create-mirror", "delete-mirror"})
    errors.Add({{"call", call}});
  for (const char* result : {"sent", "refused", "dropped"}) events_sent.Add({{"result", result}});
}

}  // namespace splitlet::status
