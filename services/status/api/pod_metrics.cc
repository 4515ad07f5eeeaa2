#include "services/status/api/pod_metrics.h"

#include "services/status/start_buckets.h"

namespace splitlet::status {
namespace {

const prometheus::Histogram::BucketBoundaries kSyncBuckets = {0.01, 0.05, 0.1, 0.5, 1, 5,
                                                              10,   20,   30,  45,  60};

}  // namespace

PodApiMetrics::PodApiMetrics(prometheus::Registry& registry)
    : sync_duration(prometheus::BuildHistogram()
                        .Name("kubelet_pod_status_sync_duration_seconds")
                        .Help("Time from the change of a pod's status until the API server has it")
                        .Register(registry)
                        .Add({}, kSyncBuckets)),
      start_total(
          prometheus::BuildHistogram()
              .Name("kubelet_pod_start_total_duration_seconds")
              .Help("Time from a pod's creation until the API server shows its containers running")
              .Register(registry)
              .Add({}, kPodStartBuckets)),
      start_sli(prometheus::BuildHistogram()
                    .Name("kubelet_pod_start_sli_duration_seconds")
                    .Help("Time to start without image pulls and init containers, for pods without "
                          "volumes to attach")
                    .Register(registry)
                    .Add({}, kPodStartBuckets)),
      first_network_start_sli(
          prometheus::BuildGauge()
              .Name("kubelet_first_network_pod_start_sli_duration_seconds")
              .Help("Time to start, as above, of the first pod with its own network")
              .Register(registry)
              .Add({})),
      unsent(prometheus::BuildGauge()
                 .Name("splitlet_status_unsent_pods")
                 .Help("Pods whose latest status the API server does not have yet")
                 .Register(registry)
                 .Add({})),
      errors(prometheus::BuildCounter()
                 .Name("splitlet_status_api_errors_total")
                 .Help("Failed calls to the API server about pods")
                 .Register(registry)),
      mirrors(prometheus::BuildGauge()
                  .Name("splitlet_status_mirror_pods")
                  .Help("Mirror pods of this node at the API server")
                  .Register(registry)
                  .Add({})),
      events_sent(prometheus::BuildCounter()
                      .Name("splitlet_status_events_sent_total")
                      .Help("Events for the API server, by result")
                      .Register(registry)) {
  for (const char* call : {"write", "delete", "create-mirror", "delete-mirror"})
    errors.Add({{"call", call}});
  for (const char* result : {"sent", "refused", "dropped"}) events_sent.Add({{"result", result}});
}

}  // namespace splitlet::status
