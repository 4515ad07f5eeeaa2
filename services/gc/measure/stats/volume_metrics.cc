#include "services/gc/measure/stats/volume_metrics.h"

#include "libs/daemon/metric_families.h"

namespace splitlet::gc {

VolumeMetrics::VolumeMetrics(prometheus::Registry& registry)
    : capacity(daemon::AddGauges(registry, "kubelet_volume_stats_capacity_bytes",
                                 "Capacity in bytes of the volume")),
      available(daemon::AddGauges(registry, "kubelet_volume_stats_available_bytes",
                                  "Number of available bytes in the volume")),
      used(daemon::AddGauges(registry, "kubelet_volume_stats_used_bytes",
                             "Number of used bytes in the volume")),
      inodes(daemon::AddGauges(registry, "kubelet_volume_stats_inodes",
                               "Maximum number of inodes in the volume")),
      inodes_free(daemon::AddGauges(registry, "kubelet_volume_stats_inodes_free",
                                    "Number of free inodes in the volume")),
      inodes_used(daemon::AddGauges(registry, "kubelet_volume_stats_inodes_used",
                                    "Number of used inodes in the volume")),
      seconds(daemon::AddHistograms(registry, "kubelet_volume_metric_collection_duration_seconds",
                                    "Duration of the measurement of one volume in seconds")) {}

}  // namespace splitlet::gc
