#include "libs/config/volume_stats.h"

#include "libs/config/reader.h"

namespace splitlet::config {

Duration VolumeStatsPeriod(const ConfigReader& read) {
  return read.Time("volumeStatsAggPeriod").value_or(kVolumeStatsPeriod);
}

}  // namespace splitlet::config
