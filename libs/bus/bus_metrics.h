#pragma once

/// Metrics of the bus in one process, by table and by closed sets of kinds and reasons; in seconds.
/// Threads: any; nothing fails.

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <vector>

#include "libs/bus/core_bus.h"

namespace splitlet::bus {

struct BusMetrics {
  explicit BusMetrics(prometheus::Registry& registry);

  prometheus::Counter& published;  // splitlet_bus_published_total: changes
  prometheus::Counter& refused;    // splitlet_bus_refused_records_total: the last good one stays
  // splitlet_bus_publish_dropped_total{reason}: no connection; too many messages wait.
  prometheus::Counter& dropped_away;
  prometheus::Counter& dropped_full;
  prometheus::Counter& permission_errors;  // splitlet_bus_permission_errors_total
  prometheus::Counter& errors;             // splitlet_bus_errors_total: of the connection
  prometheus::Counter&
      overflows;  // splitlet_bus_overflows_total: messages dropped because the loop is behind
  prometheus::Counter& undecodable;                // splitlet_bus_undecodable_messages_total
  prometheus::Family<prometheus::Histogram>& lag;  // splitlet_bus_heartbeat_lag_seconds{table}
  prometheus::Family<prometheus::Counter>&
      changes;  // splitlet_bus_changes_total{table}: applied from messages
  prometheus::Family<prometheus::Counter>& gaps;  // splitlet_bus_gaps_total{table}
  prometheus::Family<prometheus::Counter>&
      lists;  // splitlet_bus_lists_total{table,kind}: full, delta, failed
  prometheus::Family<prometheus::Counter>& rejected;  // splitlet_bus_rejected_total{table,reason}:
                                                      // foreign, impossible, obsolete, duplicate,
                                                      // unknown
  prometheus::Family<prometheus::Gauge>& records;     // splitlet_bus_view_records{table}
  prometheus::Family<prometheus::Gauge>&
      age;  // splitlet_bus_view_age_seconds{table}: since the owner spoke
  prometheus::Family<prometheus::Gauge>& live;  // splitlet_bus_view_live{table}: 1 or 0

  void ObserveLag(const std::string& table, Duration lag);
  /// Updates all metrics that the cores count. Call it from a single thread.
  void Update(const std::vector<ViewStats>& views, PutCounts puts, Clock::Time now);

 private:
  /// Metrics of one view, so that Update need not find them by their labels.
  struct OfView {
    prometheus::Counter &changes, &gaps;
    prometheus::Counter &full_lists, &delta_lists, &failed_lists;
    prometheus::Counter &not_owner, &impossible, &obsolete, &duplicates, &unknown;
    prometheus::Gauge &records, &age, &live;
  };
  OfView& Of(const std::string& table);
  std::map<std::string, OfView> views_;
};

}  // namespace splitlet::bus
