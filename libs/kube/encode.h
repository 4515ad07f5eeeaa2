#pragma once

/// Writes Kubernetes messages as JSON and YAML, by reflection. Any thread; nothing fails.

#include <string>

namespace google::protobuf {
class Message;
}

namespace splitlet::kube {

struct EncodeOptions {
  /// Printed first if set.
  std::string api_version, kind;
  /// true: fields by name, as kubectl prints them; false: in the order of the schema.
  bool sorted = false;
  /// JSON only: spaces for each level, 4 for kubectl; 0: on one line.
  int indent = 0;
};
/// Writes fields that are set and not an empty list or map. Maps are in the order of their keys.
std::string ToJson(const google::protobuf::Message& message, const EncodeOptions& options = {});
std::string ToYaml(const google::protobuf::Message& message, const EncodeOptions& options = {});

}  // namespace splitlet::kube
