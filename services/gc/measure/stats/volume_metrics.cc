#include "services/gc/measure/stats/volume_metrics.h"

namespace splitlet::gc {
namespace {

prometheus::Family<prometheus::Gauge>& Gauge(prometheus::Registry& registry, const char* name,
                                             const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

}  // namespace

VolumeMetrics::VolumeMetrics(prometheus::Registry& registry)
    : capacity(Gauge(registry, "kubelet_volume_stats_capacity_bytes",
                     "Capacity in bytes of the volume")),
      available(Gauge(registry, "kubelet_volume_stats_available_bytes",
                      "Number of available bytes in the volume")),
      used(
          Gauge(registry, "kubelet_volume_stats_used_bytes", "Number of used bytes in the volume")),
      inodes(
          Gauge(registry, "kubelet_volume_stats_inodes", "Maximum number of inodes in the volume")),
      inodes_free(Gauge(registry, "kubelet_volume_stats_inodes_free",
                        "Number of free inodes in the volume")),
      inodes_used(Gauge(registry, "kubelet_volume_stats_inodes_used",
                        "Number of used inodes in the volume")),
      seconds(prometheus::BuildHistogram()
                  .Name("kubelet_volume_metric_collection_duration_seconds")
                  .Help("Duration of the measurement of one volume in seconds")
                  .Register(registry)) {}

}  // namespace splitlet::gc
