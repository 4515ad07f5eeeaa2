#include "libs/fake_api/discovery.h"

#include <set>
#include <vector>

#include "libs/fake_api/json.h"
#include "libs/fake_api/kinds.h"

namespace splitlet::fake_api {

using apiclient::Response;

namespace {

Json Bool(bool value) { return Json{Json::Kind::kPlain, value ? "true" : "false", {}, {}}; }
Json JsonObject(std::initializer_list<std::pair<const std::string, Json>> members) {
  Json object = Json::Map();
  object.members = members;
  return object;
}
Json Strings(const std::vector<std::string>& texts) {
  Json list = Json::List();
  for (const auto& text : texts) list.items.push_back(Json::String(text));
  return list;
}
Json Typed(const std::string& kind, const std::string& version) {
  return JsonObject({{"kind", Json::String(kind)}, {"apiVersion", Json::String(version)}});
}

Response Answer(const Json& json) {
  return {.code = 200, .content_type = "application/json", .body = WriteJson(json)};
}
Response Text(std::string text) {
  return {.code = 200, .content_type = "text/plain; charset=utf-8", .body = std::move(text)};
}

Json VersionOf(const std::string& group) {
  return JsonObject(
      {{"groupVersion", Json::String(group + "/v1")}, {"version", Json::String("v1")}});
}

Json GroupOf(const std::string& name) {
  Json versions = Json::List();
  versions.items.push_back(VersionOf(name));
  return JsonObject({{"name", Json::String(name)},
                     {"versions", std::move(versions)},
                     {"preferredVersion", VersionOf(name)}});
}

std::set<std::string> Groups() {
  std::set<std::string> groups;
  for (const auto& kind : Kinds()) groups.insert(kind.group);
  groups.erase("");
  return groups;
}

Json GroupList() {
  Json list = Typed("APIGroupList", "v1");
  Json groups = Json::List();
  for (const auto& name : Groups()) groups.items.push_back(GroupOf(name));
  list.members["groups"] = std::move(groups);
  return list;
}

Json CoreVersions() {
  Json versions = Typed("APIVersions", "v1");
  versions.members["versions"] = Strings({"v1"});
  versions.members["serverAddressByClientCIDRs"] = Json::List();
  return versions;
}

std::vector<std::string> VerbsOf(const Kind& kind, const std::string& subresource) {
  if (kind.list == nullptr) return {"create"};
  static const std::set<std::string> kCreated = {"binding", "eviction", "token"};
  if (kCreated.contains(subresource)) return {"create"};
  if (!subresource.empty()) return {"get", "patch", "update"};
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

/// The kind of a subresource's body, if it differs from the object's.
void SetKind(const std::string& subresource, const Kind& kind, Json& resource) {
  std::string group, version, name = kind.kind;
  if (subresource == "binding") name = "Binding";
  if (subresource == "eviction") group = "policy", version = "v1", name = "Eviction";
  if (subresource == "token")
    group = "authentication.k8s.io", version = "v1", name = "TokenRequest";
  resource.members["kind"] = Json::String(name);
  if (version.empty()) return;
  resource.members["group"] = Json::String(group);
  resource.members["version"] = Json::String(version);
}

Json ResourceOf(const Kind& kind, const std::string& subresource) {
  Json resource =
      JsonObject({{"name", Json::String(subresource.empty() ? kind.resource
                                                            : kind.resource + "/" + subresource)},
                  {"singularName", Json::String(subresource.empty() ? kind.singular : "")},
                  {"namespaced", Bool(kind.namespaced)},
                  {"verbs", Strings(VerbsOf(kind, subresource))}});
  SetKind(subresource, kind, resource);
  if (!subresource.empty()) return resource;
  if (!kind.short_names.empty()) resource.members["shortNames"] = Strings(kind.short_names);
  static const std::set<std::string> kAll = {"pods", "services", "replicationcontrollers"};
  if (kAll.contains(kind.resource)) resource.members["categories"] = Strings({"all"});
  return resource;
}

std::optional<Json> ResourceList(const std::string& group) {
  Json resources = Json::List();
  for (const auto& kind : Kinds()) {
    if (kind.group != group) continue;
    resources.items.push_back(ResourceOf(kind, ""));
    for (const auto& subresource : kind.subresources)
      resources.items.push_back(ResourceOf(kind, subresource));
  }
  if (resources.items.empty()) return std::nullopt;
  Json list = Typed("APIResourceList", "v1");
  list.members["groupVersion"] = Json::String(group.empty() ? "v1" : group + "/v1");
  list.members["resources"] = std::move(resources);
  return list;
}

std::string RootOf(const std::string& group) {
  return group.empty() ? "api/v1" : "apis/" + group + "/v1";
}

Json OpenApiIndex() {
  Json paths = Json::Map();
  auto groups = Groups();
  groups.insert("");
  for (const auto& group : groups) {
    const std::string root = RootOf(group);
    paths.members[root] =
        JsonObject({{"serverRelativeURL", Json::String("/openapi/v3/" + root + "?hash=1")}});
  }
  return JsonObject({{"paths", std::move(paths)}});
}

/// Declares server-side field validation for each kind. kubectl checks only this before it sends an
/// object.
std::optional<Json> OpenApiOf(const std::string& root) {
  Json parameter = JsonObject({{"name", Json::String("fieldValidation")},
                               {"in", Json::String("query")},
                               {"schema", JsonObject({{"type", Json::String("string")}})}});
  Json parameters = Json::List();
  parameters.items.push_back(std::move(parameter));
  Json paths = Json::Map();
  for (const auto& kind : Kinds()) {
    if (RootOf(kind.group) != root) continue;
    Json patch = JsonObject(
        {{"parameters", parameters},
         {"responses", Json::Map()},
         {"x-kubernetes-group-version-kind", JsonObject({{"group", Json::String(kind.group)},
                                                         {"version", Json::String(kind.version)},
                                                         {"kind", Json::String(kind.kind)}})}});
    const std::string within = kind.namespaced ? "/namespaces/{namespace}/" : "/";
    paths.members["/" + root + within + kind.resource + "/{name}"] =
        JsonObject({{"patch", std::move(patch)}});
  }
  if (paths.members.empty()) return std::nullopt;
  return JsonObject({{"openapi", Json::String("3.0.0")},
                     {"info", JsonObject({{"title", Json::String("Kubernetes")},
                                          {"version", Json::String(std::string(kFakeVersion))}})},
                     {"paths", std::move(paths)}});
}

Json Version() {
  return JsonObject({{"major", Json::String("1")},
                     {"minor", Json::String("36")},
                     {"gitVersion", Json::String(std::string(kFakeVersion))},
                     {"gitCommit", Json::String("")},
                     {"gitTreeState", Json::String("clean")},
                     {"buildDate", Json::String("2026-01-01T00:00:00Z")},
                     {"goVersion", Json::String("none")},
                     {"compiler", Json::String("none")},
                     {"platform", Json::String("linux/amd64")}});
}

Json RootPaths() {
  std::vector<std::string> paths = {"/api", "/api/v1", "/apis"};
  for (const auto& group : Groups()) paths.push_back("/apis/" + group + "/v1");
  for (const char* path : {"/healthz", "/livez", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(path);
  return JsonObject({{"paths", Strings(paths)}});
}

std::optional<Json> Document(const std::string& path) {
  constexpr std::string_view kOpenApi = "/openapi/v3/";
  if (path == "/") return RootPaths();
  if (path == "/version") return Version();
  if (path == "/api") return CoreVersions();
  if (path == "/api/v1") return ResourceList("");
  if (path == "/apis") return GroupList();
  if (path == "/openapi/v3") return OpenApiIndex();
  if (path.starts_with(kOpenApi)) return OpenApiOf(path.substr(kOpenApi.size()));
  if (!path.starts_with("/apis/")) return std::nullopt;
  const std::string rest = path.substr(6);
  const size_t slash = rest.find('/');
  const std::string group = rest.substr(0, slash);
  if (!Groups().contains(group)) return std::nullopt;
  if (slash != std::string::npos)
    return rest.substr(slash) == "/v1" ? ResourceList(group) : std::nullopt;
  Json one = Typed("APIGroup", "v1");
  one.members.merge(GroupOf(group).members);
  return one;
}

}  // namespace

std::optional<Response> Discover(const std::string& path) {
  if (path == "/healthz" || path == "/livez" || path == "/readyz") return Text("ok");
  if (const auto document = Document(path)) return Answer(*document);
  return std::nullopt;
}

}  // namespace splitlet::fake_api
