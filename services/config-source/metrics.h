#pragma once

/// All metrics of config-source.
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
#include <vector>

namespace splitlet::config_source {

extern const prometheus::Histogram::BucketBoundaries kReadBuckets;

struct ConfigMetrics {
  explicit ConfigMetrics(prometheus::Registry& registry);
  /// Makes the series of a source, so that a scrape shows them from the start. `operation_names`:
  /// all values of the label `operation`.
  void AddSource(const std::string& source, const std::vector<std::string>& operation_names);

  prometheus::Family<prometheus::Gauge>& pods;  // source: wanted
  prometheus::Family<prometheus::Gauge>&
      problems;  // source: manifests and answers that need a correction
  prometheus::Family<prometheus::Gauge>& complete;          // source: 1 or 0
  prometheus::Family<prometheus::Gauge>& watched;           // source: 1 or 0; of files
  prometheus::Family<prometheus::Counter>& operations;      // source, operation
  prometheus::Family<prometheus::Histogram>& read_seconds;  // source: one read of all of it
  prometheus::Counter& record_errors;                       // reads, saves and removals that failed
  prometheus::Counter& put_errors;                          // records that `desired` refused
  prometheus::Gauge& removed_pods;                          // REMOVED and not finished yet
};

}  // namespace splitlet::config_source
