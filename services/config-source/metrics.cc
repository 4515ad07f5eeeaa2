#include "services/config-source/metrics.h"

#include "libs/daemon/metric_families.h"

namespace splitlet::config_source {

const prometheus::Histogram::BucketBoundaries kReadBuckets = {0.001, 0.005, 0.025, 0.1, 0.5, 2, 10};

ConfigMetrics::ConfigMetrics(prometheus::Registry& registry)
    : pods(daemon::AddGauges(registry, "splitlet_config_pods",
                             "Pods that a source wants on this node")),
      problems(daemon::AddGauges(registry, "splitlet_config_problems",
                                 "Manifests or answers of a source that cannot be used")),
      complete(daemon::AddGauges(registry, "splitlet_config_source_complete",
                                 "1 when all pods of a source are known")),
      watched(daemon::AddGauges(
          registry, "splitlet_config_source_watched",
          "1 while changes are noticed immediately; 0: the next periodic read finds them")),
      operations(daemon::AddCounters(registry, "splitlet_config_operations_total",
                                     "Changes of desired pods, by operation")),
      read_seconds(daemon::AddHistograms(registry, "splitlet_config_read_duration_seconds",
                                         "Time of one read of all pods of a source")),
      record_errors(
          daemon::AddCounter(registry, "splitlet_config_fact_errors_total",
                             "Files of saved pods that could not be read, saved or removed")),
      put_errors(daemon::AddCounter(registry, "splitlet_config_put_errors_total",
                                    "Records of pods that the table `desired` refused")),
      removed_pods(daemon::AddGauge(registry, "splitlet_config_removed_pods",
                                    "Removed pods whose worker has not finished yet")) {}

void ConfigMetrics::AddSource(const std::string& source,
                              const std::vector<std::string>& operation_names) {
  pods.Add({{"source", source}});
  problems.Add({{"source", source}});
  complete.Add({{"source", source}});
  read_seconds.Add({{"source", source}}, kReadBuckets);
  for (const std::string& operation : operation_names)
    operations.Add({{"source", source}, {"operation", operation}});
}

}  // namespace splitlet::config_source
