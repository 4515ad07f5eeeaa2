#pragma once

/// Metrics of what status does at the API server; there are none without one.
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

  prometheus::Histogram& sync_duration;  // a status changes to the API server has it
  prometheus::Histogram& start_total;    // a pod is made till the API server shows it as running
  prometheus::Histogram& start_sli;      // less its pulls and init containers
  prometheus::Gauge& first_network_start_sli;
  prometheus::Gauge& unsent;  // statuses that the API server does not have yet
  prometheus::Family<prometheus::Counter>& errors;       // call
  prometheus::Gauge& mirrors;                            // known
  prometheus::Family<prometheus::Counter>& events_sent;  // result
};

}  // namespace splitlet::status
