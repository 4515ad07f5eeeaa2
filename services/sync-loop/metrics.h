#pragma once

/// All metrics of sync-loop.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace splitlet::sync_loop {

struct SyncLoopMetrics {
  explicit SyncLoopMetrics(prometheus::Registry& registry);

  prometheus::Family<prometheus::Gauge>& desired_pods;  // static: "" or "true"
  prometheus::Family<prometheus::Gauge>& active_pods;   // static
  prometheus::Gauge& mirror_pods;
  prometheus::Gauge& waiting_pods;                          // to be decided
  prometheus::Gauge& unmanaged_pods;                        // in the runtime, made by nobody here
  prometheus::Family<prometheus::Counter>& rejections;      // reason
  prometheus::Family<prometheus::Counter>& preemptions;     // preemption_signal
  prometheus::Family<prometheus::Counter>& restarted_pods;  // static
  prometheus::Counter& orphans;
  prometheus::Family<prometheus::Counter>& calls;  // operation, code
};

}  // namespace splitlet::sync_loop
