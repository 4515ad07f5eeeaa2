#pragma once

/// All metrics of gc.
/// Threads: any.
/// Errors: none.
/// Units: seconds, bytes.

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "libs/base/clock.h"

namespace splitlet::gc {

struct GcMetrics {
  explicit GcMetrics(prometheus::Registry& registry);
  /// `name`: label of `round`.
  void ObserveRound(const char* name, Duration took) const;
  /// `signal_name`: the signal for which a pod was chosen.
  void ObserveStatsAge(const std::string& signal_name, Duration age) const;

  prometheus::Family<prometheus::Counter>& images;   // reason: age, space
  prometheus::Family<prometheus::Counter>& removed;  // kind
  prometheus::Family<prometheus::Counter>& errors;   // kind; "round": a round that ended early
  prometheus::Family<prometheus::Histogram>& round;  // round: removal, images
  prometheus::Counter& log_rotations;
  prometheus::Counter& memory_alarms;                    // notifications of the kernel
  prometheus::Gauge& unmanaged_pods;                     // in the runtime, not created by splitlet
  prometheus::Family<prometheus::Gauge>& signal;         // signal; value: what is available
  prometheus::Family<prometheus::Gauge>& condition;      // condition; value: 1 or 0
  prometheus::Family<prometheus::Counter>& evictions;    // eviction_signal
  prometheus::Family<prometheus::Histogram>& stats_age;  // eviction_signal
  prometheus::Gauge& orphans;                            // last round: directories of gone pods
  prometheus::Gauge& orphan_errors;                      // those of them that stay
  prometheus::Gauge& shutdown_start;  // of the last node shutdown; seconds since the epoch
  prometheus::Gauge& shutdown_end;    // 0 while the shutdown is going on
};

}  // namespace splitlet::gc
