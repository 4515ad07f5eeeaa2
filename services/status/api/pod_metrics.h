#pragma once

/// Metrics of pods and events at the API server; not registered without an API server.
/// Threads: any.
/// Errors: none.
/// Units: seconds.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace splitlet::status {

struct PodApiMetrics {
  explicit PodApiMetrics(prometheus::Registry& registry);

  prometheus::Histogram& sync_duration;  // from the change of a status until the server has it
  prometheus::Histogram& start_total;    // from a pod's creation until the server shows it running
  prometheus::Histogram& start_sli;      // without image pulls and init containers
  prometheus::Gauge& first_network_start_sli;
  prometheus::Gauge& unsent;  // statuses that the API server does not have yet
  prometheus::Family<prometheus::Counter>& errors;       // call
  prometheus::Gauge& mirrors;                            // that the server shows
  prometheus::Family<prometheus::Counter>& events_sent;  // result
};

}  // namespace splitlet::status
