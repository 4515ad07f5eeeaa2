#include "services/node-api/pages/file_fields.h"

#include <yaml-cpp/yaml.h>

#include <optional>
#include <utility>

#include "libs/base/one_line.h"
#include "libs/config/reader.h"

namespace splitlet::node_api {
namespace {

template <class T, class V>
void Take(T& field, std::optional<V> value) {
  if (value) field = *std::move(value);
}

}  // namespace

StatusOr<FileFields> ReadFileFields(const std::string& content) {
  FileFields fields;
  if (content.empty()) return fields;
  try {
    const YAML::Node document = YAML::Load(content);
    const config::ConfigReader read(document);
    fields.memory_qos = config::ReadMemoryQos(read);
    fields.volume_stats_period = config::VolumeStatsPeriod(read);
    Take(fields.profiling_handler, read.Bool("enableProfilingHandler"));
    Take(fields.debug_flags_handler, read.Bool("enableDebugFlagsHandler"));
    Take(fields.hairpin_mode, read.String("hairpinMode"));
    Take(fields.masquerade_bit, read.Int("iptablesMasqueradeBit"));
    Take(fields.drop_bit, read.Int("iptablesDropBit"));
    Take(fields.container_log_max_size, read.String("containerLogMaxSize"));
    Take(fields.merge_default_eviction, read.Bool("mergeDefaultEvictionSettings"));
  } catch (const YAML::Exception& e) {
    return InvalidArgument("not YAML: {}", OneLine(e.msg));
  }
  return fields;
}

}  // namespace splitlet::node_api
