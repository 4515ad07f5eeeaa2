#include "services/gc/metrics.h"

#include <chrono>

namespace splitlet::gc {
namespace {

const prometheus::Histogram::BucketBoundaries kRoundBuckets{0.01, 0.05, 0.1, 0.5, 1,
                                                            5,    10,   30,  60,  120};
const prometheus::Histogram::BucketBoundaries kAgeBuckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                          0.5,   1,    2.5,   5,    10};

}  // namespace

void GcMetrics::ObserveRound(const char* name, Duration took) const {
  round.Add({{"round", name}}, kRoundBuckets).Observe(std::chrono::duration<double>(took).count());
}

void GcMetrics::ObserveStatsAge(const std::string& signal_name, Duration age) const {
  stats_age.Add({{"eviction_signal", signal_name}}, kAgeBuckets)
      .Observe(std::chrono::duration<double>(age).count());
}

GcMetrics::GcMetrics(prometheus::Registry& registry)
    : images(prometheus::BuildCounter()
                 .Name("kubelet_image_garbage_collected_total")
                 .Help("Images that gc removed, by reason")
                 .Register(registry)),
      removed(prometheus::BuildCounter()
                  .Name("splitlet_gc_removed_total")
                  .Help("Containers, sandboxes, directories and links that gc removed, by kind")
                  .Register(registry)),
      errors(prometheus::BuildCounter()
                 .Name("splitlet_gc_errors_total")
                 .Help("Removals, measurements and rounds that failed, by kind")
                 .Register(registry)),
      round(prometheus::BuildHistogram()
                .Name("splitlet_gc_round_duration_seconds")
                .Help("Duration of a round of garbage collection in seconds")
                .Register(registry)),
      log_rotations(prometheus::BuildCounter()
                        .Name("splitlet_gc_log_rotations_total")
                        .Help("Container logs that gc rotated")
                        .Register(registry)
                        .Add({})),
      memory_alarms(
          prometheus::BuildCounter()
              .Name("splitlet_gc_memory_alarms_total")
              .Help("Notifications of the kernel that memory usage passed an eviction threshold")
              .Register(registry)
              .Add({})),
      unmanaged_pods(prometheus::BuildGauge()
                         .Name("splitlet_gc_unmanaged_pods")
                         .Help("Pods in the runtime that splitlet did not create")
                         .Register(registry)
                         .Add({})),
      signal(prometheus::BuildGauge()
                 .Name("splitlet_pressure_available")
                 .Help("What is left of memory, disk, inodes and process ids, by eviction signal")
                 .Register(registry)),
      condition(prometheus::BuildGauge()
                    .Name("splitlet_pressure_condition")
                    .Help("1 if the node has the condition, else 0")
                    .Register(registry)),
      evictions(prometheus::BuildCounter()
                    .Name("kubelet_evictions")
                    .Help("Pods that gc evicted, by eviction signal")
                    .Register(registry)),
      stats_age(prometheus::BuildHistogram()
                    .Name("kubelet_eviction_stats_age_seconds")
                    .Help("Age of the signals when gc chose a pod to evict, in seconds")
                    .Register(registry)),
      orphans(prometheus::BuildGauge()
                  .Name("kubelet_orphan_pod_cleaned_volumes")
                  .Help("Orphaned pods whose directory the last round tried to remove")
                  .Register(registry)
                  .Add({})),
      orphan_errors(prometheus::BuildGauge()
                        .Name("kubelet_orphan_pod_cleaned_volumes_errors")
                        .Help("Orphaned pods whose directory the last round could not remove")
                        .Register(registry)
                        .Add({})),
      shutdown_start(prometheus::BuildGauge()
                         .Name("kubelet_graceful_shutdown_start_time_seconds")
                         .Help("Last graceful shutdown start time since unix epoch in seconds")
                         .Register(registry)
                         .Add({})),
      shutdown_end(prometheus::BuildGauge()
                       .Name("kubelet_graceful_shutdown_end_time_seconds")
                       .Help("Last graceful shutdown end time since unix epoch in seconds")
                       .Register(registry)
                       .Add({})) {}

}  // namespace splitlet::gc
