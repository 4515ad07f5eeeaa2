#pragma once

/// kubelet_runtime_operations_*: count, duration and errors of each CRI call. Any thread.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

#include "libs/base/clock.h"

namespace splitlet::cri {

class CriMetrics {
 public:
  explicit CriMetrics(prometheus::Registry& registry)
      : operations_(prometheus::BuildCounter()
                        .Name("kubelet_runtime_operations_total")
                        .Help("CRI calls")
                        .Register(registry)),
        errors_(prometheus::BuildCounter()
                    .Name("kubelet_runtime_operations_errors_total")
                    .Help("CRI calls that failed")
                    .Register(registry)),
        seconds_(prometheus::BuildHistogram()
                     .Name("kubelet_runtime_operations_duration_seconds")
                     .Help("Duration of CRI calls")
                     .Register(registry)) {}

  void Note(const std::string& operation, Duration took, bool failed) {
    const std::map<std::string, std::string> labels{{"operation_type", operation}};
    operations_.Add(labels).Increment();
    if (failed) errors_.Add(labels).Increment();
    seconds_.Add(labels, Buckets()).Observe(std::chrono::duration<double>(took).count());
  }

 private:
  static prometheus::Histogram::BucketBoundaries Buckets() {
    prometheus::Histogram::BucketBoundaries buckets{0.005};
    while (buckets.size() < 14) buckets.push_back(buckets.back() * 2.5);
    return buckets;
  }

  prometheus::Family<prometheus::Counter>& operations_;
  prometheus::Family<prometheus::Counter>& errors_;
  prometheus::Family<prometheus::Histogram>& seconds_;
};

}  // namespace splitlet::cri
