#include "libs/config/volume_stats.h"

#include <yaml-cpp/yaml.h>

#include "libs/config/reader.h"

namespace splitlet::config {

Duration VolumeStatsPeriod(const std::string& content) {
  if (content.empty()) return kVolumeStatsPeriod;
  try {
    const YAML::Node document = YAML::Load(content);
    return ConfigReader(document).Time("volumeStatsAggPeriod").value_or(kVolumeStatsPeriod);
  } catch (const YAML::Exception&) {
    return kVolumeStatsPeriod;
  }
}

}  // namespace splitlet::config
