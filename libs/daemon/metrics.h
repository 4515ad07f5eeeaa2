#pragma once

/// Metrics of every process, in seconds and bytes; names without our prefix are Prometheus's.
/// Threads: any; nothing fails.

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/fail_point.h"
#include "libs/daemon/log_sink.h"

namespace splitlet::daemon {

struct Metrics {
  Metrics(prometheus::Registry& registry, const std::string& process, const std::string& version);

  prometheus::Gauge& build_info;  // splitlet_build_info{process,version}: 1
  prometheus::Gauge& start_time;  // process_start_time_seconds
  prometheus::Gauge& restarts;    // splitlet_process_restarts: starts in this boot, less one
  prometheus::Family<prometheus::Gauge>&
      start_reason;  // splitlet_process_start_reason{reason}: boot, stopped, died
  /// splitlet_config_ignored_fields{field}: 1 for each that is set without effect
  prometheus::Family<prometheus::Gauge>& config_ignored;
  prometheus::Gauge& ready;          // splitlet_process_ready: 1 or 0
  prometheus::Gauge& bus_connected;  // splitlet_bus_connected: 1 or 0
  prometheus::Histogram&
      loop_lag;                  // splitlet_loop_lag_seconds: how late tasks of the event loop run
  prometheus::Gauge& loop_idle;  // splitlet_loop_last_turn_age_seconds: since the loop last turned
  prometheus::Gauge& pool_threads;      // splitlet_pool_threads
  prometheus::Gauge& pool_busy;         // splitlet_pool_busy_threads
  prometheus::Gauge& pool_waiting;      // splitlet_pool_waiting_strands: with work and no thread
  prometheus::Counter& events_sent;     // splitlet_events_sent_total
  prometheus::Counter& events_dropped;  // splitlet_events_dropped_total
  prometheus::Family<prometheus::Counter>& log_lines;  // splitlet_log_lines_total{level}
  prometheus::Counter& log_dropped;                    // splitlet_log_dropped_total
  prometheus::Gauge& faults_armed;   // splitlet_fail_points_armed: with a term other than off
  prometheus::Gauge& faults_locked;  // splitlet_fail_points_locked: 1 or 0
  prometheus::Family<prometheus::Counter>& fault_hits;  // splitlet_fail_point_hits_total{point}

  /// Updates metrics that are counted elsewhere.
  void Update(const StderrSink& log, const FailPoints& points);
};

/// CPU, memory, threads and file descriptors of this process, read from /proc at each scrape.
class ProcCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

/// The text form of everything in `registry` and of this process.
std::string Scrape(const prometheus::Registry& registry);

}  // namespace splitlet::daemon
