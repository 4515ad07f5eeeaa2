#pragma once

/// Converts YAML and JSON to Kubernetes messages and back, by reflection. Any thread.
/// Errors: INVALID_ARGUMENT that names file, field, reason and line:
///   web.yaml: spec.containers[1].ports[0].hostPort: expected a number, found "x" (line 12)
/// Limits: those of tokens.h. Quantities are kept in their canonical text.
/// Source: docs/behaviour/manifests.md, "Decoding".

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/encode.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::kube {

/// How to treat unknown and duplicate fields.
enum class Strictness { kStrict, kLenient };

struct Decoded {
  std::string api_version, kind;
  std::shared_ptr<google::protobuf::Message> object;  // an object of the prototype's type
  std::vector<std::string> warnings;  // "web.yaml: spec.foo: unknown field (line 3)"

  /// nullptr if the object has another type: decoded.As<kube::Pod>().
  template <class T>
  std::shared_ptr<T> As() const {
    return std::dynamic_pointer_cast<T>(object);
  }
};

/// A kind that Decode accepts.
struct KnownKind {
  std::string_view api_version, kind;
  const google::protobuf::Message* prototype;
};
/// v1 Pod and PodList.
const std::vector<KnownKind>& PodKinds();

/// Decodes by the document's apiVersion and kind. `file` appears only in errors.
StatusOr<Decoded> Decode(std::string_view text, const std::string& file, Strictness strictness,
                         const std::vector<KnownKind>& kinds = PodKinds());

/// Decodes any kind into `message`, which is cleared first, and is unspecified after an error.
StatusOr<std::vector<std::string>> DecodeInto(std::string_view text, const std::string& file,
                                              Strictness strictness,
                                              google::protobuf::Message& message);

/// Line of the field ("spec.containers[0].image") or of the innermost existing part of the path; 0
/// if no part exists.
size_t FindLine(std::string_view text, std::string_view path);

}  // namespace splitlet::kube
