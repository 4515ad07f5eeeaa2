#include "services/config-source/metrics.h"

#include "services/config-source/merge.h"

namespace splitlet::config_source {

const prometheus::Histogram::BucketBoundaries kReadBuckets = {0.001, 0.005, 0.025, 0.1, 0.5, 2, 10};

ConfigMetrics::ConfigMetrics(prometheus::Registry& registry)
    : pods(prometheus::BuildGauge()
               .Name("splitlet_config_pods")
               .Help("Pods that a source wants on this node")
               .Register(registry)),
      problems(prometheus::BuildGauge()
                   .Name("splitlet_config_problems")
                   .Help("Manifests or answers of a source that cannot be used as they are")
                   .Register(registry)),
      complete(prometheus::BuildGauge()
                   .Name("splitlet_config_source_complete")
                   .Help("1 when everything that a source wants is known")
                   .Register(registry)),
      watched(prometheus::BuildGauge()
                  .Name("splitlet_config_source_watched")
                  .Help("1 while changes are noticed at once; else the periodic look finds them")
                  .Register(registry)),
      operations(prometheus::BuildCounter()
                     .Name("splitlet_config_operations_total")
                     .Help("Changes of desired pods")
                     .Register(registry)),
      read_seconds(prometheus::BuildHistogram()
                       .Name("splitlet_config_read_duration_seconds")
                       .Help("Time of one look at all of a source")
                       .Register(registry)),
      record_errors(prometheus::BuildCounter()
                        .Name("splitlet_config_fact_errors_total")
                        .Help("Files of remembered pods that could not be read, saved or removed")
                        .Register(registry)
                        .Add({})),
      removed_pods(prometheus::BuildGauge()
                       .Name("splitlet_config_removed_pods")
                       .Help("Pods taken away whose worker has not finished yet")
                       .Register(registry)
                       .Add({})) {}

void ConfigMetrics::AddSource(const std::string& source) {
  pods.Add({{"source", source}});
  problems.Add({{"source", source}});
  complete.Add({{"source", source}});
  read_seconds.Add({{"source", source}}, kReadBuckets);
  for (const auto operation : {Operation::kRemove, Operation::kAdd, Operation::kUpdate,
                               Operation::kDelete, Operation::kReconcile})
    operations.Add({{"source", source}, {"operation", std::string(OperationName(operation))}});
}

}  // namespace splitlet::config_source
