#pragma once

/// All metrics of status.
/// Threads: any.
/// Errors: none.
/// Units: seconds.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace splitlet::status {

/// Metrics of the node at the API server.
struct NodeAtServerMetrics {
  explicit NodeAtServerMetrics(prometheus::Registry& registry);

  prometheus::Gauge& registered;                           // 1 once the server has the node
  prometheus::Family<prometheus::Counter>& registrations;  // result: ok, error
  prometheus::Family<prometheus::Counter>& reports;        // result: sent, unchanged, error
  prometheus::Family<prometheus::Counter>& renewals;       // of the lease; result: ok, error
  prometheus::Gauge& renewed_at;                           // since the epoch
  prometheus::Family<prometheus::Counter>& csi_rounds;     // result: ok, error
  prometheus::Family<prometheus::Gauge>& csi_drivers;      // state: waiting, written, refused
  // Set once, if this process has created the Node: the phases from the boot until Ready.
  prometheus::Gauge &startup, &before_process, &before_registration, &registration,
      &after_registration;
};

struct StatusMetrics {
  StatusMetrics(prometheus::Registry& registry, const std::string& node_name);

  prometheus::Gauge& node_name;                                 // node: 1
  prometheus::Gauge& node_ready;                                // 1 or 0
  prometheus::Family<prometheus::Gauge>& unanswered;            // process
  prometheus::Family<prometheus::Gauge>& pods;                  // phase
  prometheus::Family<prometheus::Gauge>& waiting;               // reason
  prometheus::Family<prometheus::Gauge>& pending_resizes;       // reason
  prometheus::Family<prometheus::Counter>& infeasible_resizes;  // reason_detail
  prometheus::Counter& changes;                                 // statuses that were put
  prometheus::Counter& put_errors;
  prometheus::Family<prometheus::Counter>& terminated;      // container_type, exit_code, reason
  prometheus::Histogram& pod_start;                         // from first seen to Running
  prometheus::Gauge& events;                                // in the store
  prometheus::Family<prometheus::Counter>& events_handled;  // result: new, counted, spam, displaced
  NodeAtServerMetrics node_at_server;
};

/// The metric label for a waiting reason: one of a closed set.
std::string WaitingReason(const std::string& reason);

}  // namespace splitlet::status
