#include "libs/csi/node_object.h"

namespace splitlet::csi {
namespace {

StatusOr<StringMap> ParseAnnotation(const std::string& annotation) {
  if (annotation.empty()) return StringMap();
  auto parsed = ParseStringMap(annotation);
  if (parsed.ok()) return parsed;
  return InvalidArgument("failed to parse node's \"{}\" annotation value (\"{}\") err={}",
                         kNodeIdAnnotation, annotation, Message(parsed.status()));
}

}  // namespace

StatusOr<std::string> AddNodeId(const std::string& annotation, const std::string& driver,
                                const std::string& node_id) {
  auto ids = ParseAnnotation(annotation);
  if (!ids.ok()) return ids.status();
  const auto found = ids->find(driver);
  if (found != ids->end() && found->second == node_id) return annotation;
  (*ids)[driver] = node_id;
  return WriteStringMap(*ids);
}

StatusOr<std::optional<std::string>> RemoveNodeId(const std::string& annotation,
                                                  const std::string& driver) {
  auto ids = ParseAnnotation(annotation);
  if (!ids.ok()) return ids.status();
  const bool changed = ids->erase(driver) > 0;
  if (ids->empty()) return std::nullopt;
  return changed ? WriteStringMap(*ids) : annotation;
}

StatusOr<StringMap> MissingTopologyLabels(const StringMap& labels, const StringMap& topology) {
  StringMap missing;
  for (const auto& [key, value] : topology) {
    const auto existing = labels.find(key);
    if (existing == labels.end()) {
      missing[key] = value;
    } else if (existing->second != value) {
      return InvalidArgument(
          "detected topology value collision: driver reported \"{}\":\"{}\" but existing label is "
          "\"{}\":\"{}\"",
          key, value, key, existing->second);
    }
  }
  return missing;
}

}  // namespace splitlet::csi
