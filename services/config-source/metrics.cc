#include "services/config-source/metrics.h"

namespace splitlet::config_source {

const prometheus::Histogram::BucketBoundaries kReadBuckets = {0.001, 0.005, 0.025, 0.1, 0.5, 2, 10};

ConfigMetrics::ConfigMetrics(prometheus::Registry& registry)
    : pods(prometheus::BuildGauge()
               .Name("splitlet_config_pods")
               .Help("Pods that a source wants on this node")
               .Register(registry)),
      problems(prometheus::BuildGauge()
                   .Name("splitlet_config_problems")
                   .Help("Manifests or answers of a source that cannot be used")
                   .Register(registry)),
      complete(prometheus::BuildGauge()
                   .Name("splitlet_config_source_complete")
                   .Help("1 when all pods of a source are known")
                   .Register(registry)),
      watched(
          prometheus::BuildGauge()
              .Name("splitlet_config_source_watched")
              .Help("1 while changes are noticed immediately; 0: the next periodic read finds them")
              .Register(registry)),
      operations(prometheus::BuildCounter()
                     .Name("splitlet_config_operations_total")
                     .Help("Changes of desired pods, by operation")
                     .Register(registry)),
      read_seconds(prometheus::BuildHistogram()
                       .Name("splitlet_config_read_duration_seconds")
                       .Help("Time of one read of all pods of a source")
                       .Register(registry)),
      record_errors(prometheus::BuildCounter()
                        .Name("splitlet_config_fact_errors_total")
                        .Help("Files of saved pods that could not be read, saved or removed")
                        .Register(registry)
                        .Add({})),
      removed_pods(prometheus::BuildGauge()
                       .Name("splitlet_config_removed_pods")
                       .Help("Removed pods whose worker has not finished yet")
                       .Register(registry)
                       .Add({})) {}

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
