#include "libs/csi/volume_stats.h"

#include <algorithm>

#include "csi/v1/csi.pb.h"
#include "libs/base/text.h"

namespace splitlet::csi {
namespace {

namespace wire = ::csi::v1;

VolumeUsage UsageOf(const wire::VolumeUsage& usage) {
  const auto natural = [](int64_t n) { return std::max<int64_t>(n, 0); };
  return {natural(usage.available()), natural(usage.total()), natural(usage.used())};
}

}  // namespace

StatusOr<VolumeStats> ReadVolumeStats(const wire::NodeGetVolumeStatsResponse& response) {
  if (response.usage().empty()) return Internal("failed to get usage from response. usage is nil");
  VolumeStats stats;
  for (const auto& usage : response.usage()) {
    if (usage.unit() == wire::VolumeUsage::BYTES) stats.bytes = UsageOf(usage);
    if (usage.unit() == wire::VolumeUsage::INODES) stats.inodes = UsageOf(usage);
  }
  if (response.volume_condition().abnormal())
    stats.abnormal = ToText(response.volume_condition().message());
  return stats;
}

}  // namespace splitlet::csi
