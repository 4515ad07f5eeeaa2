#pragma once

/// The kinds that the server in memory knows, and how their paths are written.
/// Threads: values and pure functions, any; nothing fails.
/// Source: Kubernetes API, reference; Kubernetes API, "Resource URIs".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

struct Kind {
  std::string group, version;  // "" and "v1" for the core
  std::string resource, singular, kind;
  bool namespaced = false;
  const google::protobuf::Message* item = nullptr;
  const google::protobuf::Message* list = nullptr;  // nullptr: answered and never stored
  bool has_status = false;
  bool has_generation = false;
  bool unconditional_update = true;  // a PUT without resourceVersion is taken
  bool create_on_update = false;
  std::vector<std::string> fields;  // of a field selector, beside metadata.name and .namespace
  std::vector<std::string> subresources;
  std::vector<std::string> short_names;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// "pods", "leases.coordination.k8s.io": as errors name it.
  std::string full_name() const { return group.empty() ? resource : resource + "." + group; }
};

/// By group and then resource; never changes.
const std::vector<Kind>& Kinds();
const Kind& PodKind();
const Kind& FindKind(std::string_view resource);

struct Place {
  const Kind* kind = nullptr;
  std::string name_space, name, subresource;
  std::string key() const { return name_space.empty() ? name : name_space + "/" + name; }
};

/// "/api/v1/namespaces/a/pods/web/status"; nothing for a path of no kind.
std::optional<Place> ParsePath(std::string_view path);
std::string PathOf(const Place& place);

/// A query's part or a path's, with %xx and + resolved.
std::string Unescaped(std::string_view text);

}  // namespace splitlet::apiclient
