#include "libs/config/volume_stats.h"

#include <yaml-cpp/yaml.h>

#include "libs/config/reader.h"

namespace splitlet::config {

Duration VolumeStatsPeriod(const std::string& content) {
  if (content.empty()) return kVolumeStatsPeriod;
  try {
    const YAML::Node document = YAML::Load(content);
    return VolumeStatsPeriod(ConfigReader(document));
  } catch (const YAML::Exception&) {
    return kVolumeStatsPeriod;
  }
}

Duration VolumeStatsPeriod(const ConfigReader& read) {
  return read.Time("volumeStatsAggPeriod").value_or(kVolumeStatsPeriod);
}

}  // namespace splitlet::config
