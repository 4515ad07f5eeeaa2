#pragma once

/// Registers metrics by name and help text. The plural registers a family, whose metrics differ by
/// labels; the singular its only metric, without labels.
/// Threads: any.
/// Errors:  none; a name that is registered twice with another type aborts the process.
/// Source:  docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace splitlet::daemon {

inline prometheus::Family<prometheus::Gauge>& AddGauges(prometheus::Registry& registry,
                                                        const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

inline prometheus::Gauge& AddGauge(prometheus::Registry& registry, const char* name,
                                   const char* help) {
  return AddGauges(registry, name, help).Add({});
}

inline prometheus::Family<prometheus::Counter>& AddCounters(prometheus::Registry& registry,
                                                            const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

inline prometheus::Counter& AddCounter(prometheus::Registry& registry, const char* name,
                                       const char* help) {
  return AddCounters(registry, name, help).Add({});
}

inline prometheus::Family<prometheus::Histogram>& AddHistograms(prometheus::Registry& registry,
                                                                const char* name,
                                                                const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

inline prometheus::Histogram& AddHistogram(prometheus::Registry& registry, const char* name,
                                           const char* help,
                                           const prometheus::Histogram::BucketBoundaries& buckets) {
  return AddHistograms(registry, name, help).Add({}, buckets);
}

}  // namespace splitlet::daemon
