#include "libs/config/memory_qos.h"

#include "libs/base/one_line.h"
#include "libs/config/feature_gates.h"
#include "libs/config/reader.h"

namespace splitlet::config {

StatusOr<MemoryQos> ReadMemoryQos(const std::string& content) {
  try {
    const YAML::Node document = YAML::Load(content);
    return ReadMemoryQos(ConfigReader(document));
  } catch (const YAML::Exception& e) {
    return InvalidArgument("not YAML: {}", OneLine(e.msg));
  }
}

MemoryQos ReadMemoryQos(const ConfigReader& read) {
  MemoryQos qos{.enabled = FeatureGates(GatesSet(read)).Enabled("MemoryQoS")};
  if (!qos.enabled) return qos;
  qos.throttling_factor = read.Float("memoryThrottlingFactor").value_or(qos.throttling_factor);
  qos.tiered = read.String("memoryReservationPolicy") == "TieredReservation";
  return qos;
}

}  // namespace splitlet::config
