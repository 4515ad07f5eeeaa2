#pragma once

/// All metrics of pleg, except those of its runtime calls.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics"; docs/behaviour/relist.md.

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "libs/base/clock.h"

namespace splitlet::pleg {

/// The unit of all durations below.
inline double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

struct PlegMetrics {
  explicit PlegMetrics(prometheus::Registry& registry);

  prometheus::Histogram& relist_seconds;      // each listing, also if it failed
  prometheus::Histogram& relist_interval;     // from the start of the last good listing to this one
  prometheus::Histogram& pod_relist_seconds;  // each inspection of one pod
  prometheus::Gauge& last_seen;               // Unix time at which the last good listing began
  prometheus::Counter& discarded_events;      // of the stream, when too many waited
  prometheus::Gauge& running_pods;            // with a ready sandbox
  prometheus::Family<prometheus::Gauge>& running_containers;  // container_state
  prometheus::Counter& stream_opened;
  prometheus::Counter& stream_failed;
  prometheus::Family<prometheus::Counter>& changes;     // type, see EventType
  prometheus::Family<prometheus::Gauge>& event_source;  // source: 1 for the source in use
  prometheus::Counter& inspect_errors;
  prometheus::Gauge& unvouched_pods;
};

}  // namespace splitlet::pleg
