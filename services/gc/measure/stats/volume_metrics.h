#pragma once

/// Metrics of volumes, with the names of a kubelet. The other metrics stand in GcMetrics.
/// Threads: any.
/// Errors:  none.
/// Units:   seconds, bytes.

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace splitlet::gc {

struct VolumeMetrics {
  explicit VolumeMetrics(prometheus::Registry& registry);

  // Volumes with a claim. Labels: namespace, persistentvolumeclaim.
  prometheus::Family<prometheus::Gauge>& capacity;
  prometheus::Family<prometheus::Gauge>& available;
  prometheus::Family<prometheus::Gauge>& used;
  prometheus::Family<prometheus::Gauge>& inodes;
  prometheus::Family<prometheus::Gauge>& inodes_free;
  prometheus::Family<prometheus::Gauge>& inodes_used;
  prometheus::Family<prometheus::Histogram>& seconds;  // metric_source: du, statfs
};

}  // namespace splitlet::gc
