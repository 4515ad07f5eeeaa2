#pragma once

/// All metrics of sync-loop.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>
#include <vector>

namespace splitlet::sync_loop {

struct SyncLoopMetrics {
  /// `reasons`: all values of the label `reason`.
  SyncLoopMetrics(prometheus::Registry& registry, const std::vector<std::string>& reasons);

  prometheus::Family<prometheus::Gauge>& desired_pods;  // static: "" or "true"
  prometheus::Family<prometheus::Gauge>& active_pods;   // static
  prometheus::Gauge& mirror_pods;
  prometheus::Gauge& waiting_pods;                       // undecided, or decided to wait
  prometheus::Gauge& unmanaged_pods;                     // in the runtime, made by another program
  prometheus::Family<prometheus::Counter>& rejections;   // reason
  prometheus::Family<prometheus::Counter>& preemptions;  // preemption_signal
  prometheus::Family<prometheus::Counter>& restarted_pods;  // static
  prometheus::Counter& orphans;
  prometheus::Family<prometheus::Counter>& orphan_kills;  // code
  prometheus::Family<prometheus::Counter>& calls;         // operation, code
  prometheus::Family<prometheus::Counter>& file_errors;   // operation: read, save, remove
};

}  // namespace splitlet::sync_loop
