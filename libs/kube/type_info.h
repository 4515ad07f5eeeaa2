#pragma once

/// The JSON form of a message type, computed once from its descriptor: names, order, inlined
/// structs, and types written as a text or list instead of an object.
/// Threads: any; results are immutable and exist as long as the process.
/// Source: proto/splitlet/v1/options.proto; Kubernetes API conventions.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
class Reflection;
}  // namespace google::protobuf

namespace splitlet::kube {

/// JSON form of a message.
enum class Form {
  kObject,
  kQuantity,
  kTime,
  kMicroTime,
  kDuration,
  kIntOrString,
  kRaw,         // bytes that already are JSON
  kStringList,  // a message with only a list
};

struct TypeInfo;

struct FieldInfo {
  const google::protobuf::FieldDescriptor* field = nullptr;
  /// Cached reflection of the message with the field, because asking the message for it is slow.
  const google::protobuf::Reflection* reflection = nullptr;
  std::string json_name;
  /// Messages between the object and the field without a name in JSON, outermost first.
  std::vector<const google::protobuf::FieldDescriptor*> inlined;
  /// Type of the message, or of a map's values; nullptr for scalars.
  const TypeInfo* type = nullptr;
  bool is_map = false;
  bool is_list = false;
  size_t index = 0;  // index in TypeInfo::fields
};

inline constexpr size_t kMaxFields = 128;

struct TypeInfo {
  const google::protobuf::Descriptor* descriptor = nullptr;
  const google::protobuf::Reflection* reflection = nullptr;
  Form form = Form::kObject;
  /// Fields 1 to 3 of a type that is not written as an object.
  std::array<const google::protobuf::FieldDescriptor*, 3> parts{};
  std::vector<FieldInfo> fields;  // in the order of the schema
  std::vector<size_t> by_name;    // indexes in the order of the names
  std::unordered_map<std::string_view, const FieldInfo*> lookup;  // by JSON name
};

const TypeInfo& TypeInfoOf(const google::protobuf::Descriptor& descriptor);

/// The message with `field`: itself, or an inlined part, which is created if missing.
google::protobuf::Message& HolderOf(google::protobuf::Message& message, const FieldInfo& field);
/// nullptr if an inlined part is not set.
const google::protobuf::Message* FindHolder(const google::protobuf::Message& message,
                                            const FieldInfo& field);

}  // namespace splitlet::kube
