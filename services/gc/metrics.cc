#include "services/gc/metrics.h"

#include <chrono>

#include "libs/daemon/metric_families.h"

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
    : images(daemon::AddCounters(registry, "kubelet_image_garbage_collected_total",
                                 "Images that gc removed, by reason")),
      removed(daemon::AddCounters(
          registry, "splitlet_gc_removed_total",
          "Containers, sandboxes, directories and links that gc removed, by kind")),
      errors(daemon::AddCounters(registry, "splitlet_gc_errors_total",
                                 "Removals, measurements and rounds that failed, by kind")),
      round(daemon::AddHistograms(registry, "splitlet_gc_round_duration_seconds",
                                  "Duration of a round of garbage collection in seconds")),
      log_rotations(daemon::AddCounter(registry, "splitlet_gc_log_rotations_total",
                                       "Container logs that gc rotated")),
      memory_alarms(daemon::AddCounter(
          registry, "splitlet_gc_memory_alarms_total",
          "Notifications of the kernel that memory usage passed an eviction threshold")),
      unmanaged_pods(daemon::AddGauge(registry, "splitlet_gc_unmanaged_pods",
                                      "Pods in the runtime that splitlet did not create")),
      signal(daemon::AddGauges(
          registry, "splitlet_pressure_available",
          "What is left of memory, disk, inodes and process ids, by eviction signal")),
      condition(daemon::AddGauges(registry, "splitlet_pressure_condition",
                                  "1 if the node has the condition, else 0")),
      evictions(daemon::AddCounters(registry, "kubelet_evictions",
                                    "Pods that gc evicted, by eviction signal")),
      stats_age(
          daemon::AddHistograms(registry, "kubelet_eviction_stats_age_seconds",
                                "Age of the signals when gc chose a pod to evict, in seconds")),
      orphans(daemon::AddGauge(registry, "kubelet_orphan_pod_cleaned_volumes",
                               "Orphaned pods whose directory the last round tried to remove")),
      orphan_errors(
          daemon::AddGauge(registry, "kubelet_orphan_pod_cleaned_volumes_errors",
                           "Orphaned pods whose directory the last round could not remove")),
      shutdown_start(
          daemon::AddGauge(registry, "kubelet_graceful_shutdown_start_time_seconds",
                           "Last graceful shutdown start time since unix epoch in seconds")),
      shutdown_end(
          daemon::AddGauge(registry, "kubelet_graceful_shutdown_end_time_seconds",
                           "Last graceful shutdown end time since unix epoch in seconds")) {}

}  // namespace splitlet::gc
