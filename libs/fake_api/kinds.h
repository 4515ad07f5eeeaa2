#pragma once

/// The kinds that the fake API server knows, and the grammar of their paths.
/// Threads: values and pure functions, any; nothing fails.
/// Source: Kubernetes API, reference; Kubernetes API, "Resource URIs".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace splitlet::fake_api {

struct Kind {
  std::string group, version;  // "" and "v1" for the core group
  std::string resource, singular, kind;
  bool namespaced = false;
  const google::protobuf::Message* item = nullptr;
  const google::protobuf::Message* list = nullptr;  // nullptr: never stored, like a review
  bool has_status = false;
  bool has_generation = false;
  bool unconditional_update = true;  // accepts a PUT without resourceVersion
  bool create_on_update = false;
  std::vector<std::string> fields;  // selectable, beside metadata.name and metadata.namespace
  std::vector<std::string> subresources;
  std::vector<std::string> short_names;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// The resource's name in errors: "pods", "leases.coordination.k8s.io".
  std::string full_name() const { return group.empty() ? resource : resource + "." + group; }
};

/// Sorted by group, then resource; constant.
const std::vector<Kind>& Kinds();
const Kind& PodKind();
const Kind& FindKind(std::string_view resource);

struct Place {
  const Kind* kind = nullptr;
  std::string name_space, name, subresource;
  std::string key() const { return name_space.empty() ? name : name_space + "/" + name; }
};

/// Reads "/api/v1/namespaces/a/pods/web/status"; nullopt if the path names no kind.
std::optional<Place> ParsePath(std::string_view path);
std::string PathOf(const Place& place);

/// Unescapes a part of a query or path: %xx and +.
std::string Unescaped(std::string_view text);

}  // namespace splitlet::fake_api
