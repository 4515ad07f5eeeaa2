#include "services/pod-worker/runtime_config/environment.h"

#include <algorithm>
#include <optional>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "libs/kube/env_file.h"
#include "libs/kube/quantity.h"
#include "services/pod-worker/objects/service_variables.h"
#include "services/pod-worker/objects/values.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/resources.h"

namespace splitlet::pod_worker {

namespace {

using k8s::io::api::core::v1::EnvVar;
using k8s::io::api::core::v1::ResourceFieldSelector;

constexpr std::string_view kDefaultNamespace = "default", kMasterService = "kubernetes";

/// As a kubelet writes it: what is no letter, number, mark or blank is escaped.
std::string Quoted(std::string_view text) {
  static constexpr std::pair<char, char> kShort[] = {{'"', '"'},  {'\\', '\\'}, {'\a', 'a'},
                                                     {'\b', 'b'}, {'\f', 'f'},  {'\n', 'n'},
                                                     {'\r', 'r'}, {'\t', 't'},  {'\v', 'v'}};
  std::string out = "\"";
  for (const char c : text) {
    const auto* found = std::ranges::find(kShort, c, &std::pair<char, char>::first);
    const auto byte = static_cast<unsigned char>(c);
    if (found != std::end(kShort)) {
      out += '\\';
      out += found->second;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// The first address of the node's family, then the first of the other.
std::vector<std::string> InNodesOrder(const std::vector<std::string>& ips,
                                      const std::vector<std::string>& node_ips) {
  const auto is_v6 = [](const std::string& ip) { return ip.find(':') != std::string::npos; };
  if (ips.empty() || node_ips.empty()) return ips;
  std::vector<std::string> ordered;
  const bool node_v6 = is_v6(node_ips.front());
  for (const bool v6 : {node_v6, !node_v6}) {
    const auto first =
        std::ranges::find_if(ips, [&](const std::string& ip) { return is_v6(ip) == v6; });
    if (first != ips.end()) ordered.push_back(*first);
  }
  return ordered;
}

/// Sorted lines key="value".
template <class Map>
std::string Lines(const Map& map) {
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  std::string text;
  for (const auto& [key, value] : sorted) {
    if (!text.empty()) text += '\n';
    text += key + "=" + Quoted(value);
  }
  return text;
}

template <class Map>
std::string Lookup(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

/// "metadata.labels['k']" with prefix "metadata.labels": k. False when the path is of another form.
bool Subscript(const std::string& path, const std::string& prefix, std::string& key) {
  if (!path.starts_with(prefix + "['") || !path.ends_with("']")) return false;
  key = path.substr(prefix.size() + 2, path.size() - prefix.size() - 4);
  return true;
}

StatusOr<std::string> FieldValue(const std::string& path, const EnvironmentInput& in) {
  const auto& meta = in.pod.metadata();
  std::string key;
  if (path == "metadata.name") return meta.name();
  if (path == "metadata.namespace") return meta.namespace_();
  if (path == "metadata.uid") return meta.uid();
  if (path == "metadata.labels") return Lines(meta.labels());
  if (path == "metadata.annotations") return Lines(meta.annotations());
  if (Subscript(path, "metadata.labels", key)) return Lookup(meta.labels(), key);
  if (Subscript(path, "metadata.annotations", key)) return Lookup(meta.annotations(), key);
  if (path == "spec.nodeName") return in.node.name;
  if (path == "spec.serviceAccountName") return in.pod.spec().service_account_name();
  if (path == "status.hostIP") return in.node.ips.empty() ? "" : in.node.ips.front();
  if (path == "status.hostIPs") return fmt::format("{}", fmt::join(in.node.ips, ","));
  const auto ips =
      InNodesOrder(in.pod.spec().host_network() ? in.node.ips : in.pod_ips, in.node.ips);
  if (path == "status.podIP") return ips.empty() ? "" : ips.front();
  if (path == "status.podIPs") return fmt::format("{}", fmt::join(ips, ","));
  return InvalidArgument("unsupported fieldPath: {}", path);
}

const kube::Container* FindContainer(const EnvironmentInput& in, const std::string& name,
                                     bool& regular) {
  regular = true;
  if (name.empty() || name == in.container.name()) return &in.container;
  for (const auto& container : in.pod.spec().containers())
    if (container.name() == name) return &container;
  regular = false;
  for (const auto& container : in.pod.spec().init_containers())
    if (container.name() == name) return &container;
  return nullptr;
}

/// What a missing limit means: the pod's own, else the node's.
int64_t DefaultLimit(const EnvironmentInput& in, const std::string& name, bool milli) {
  if (const auto pod_limit = LimitOf(in.pod.spec().resources(), name, milli)) return *pod_limit;
  const NodeInfo::Allocatable& node = in.node.allocatable;
  if (name == "cpu") return node.cpu_millicores;
  if (name == "memory") return node.memory_bytes;
  return name == "ephemeral-storage" ? node.storage_bytes : 0;
}

StatusOr<std::string> ResourceValue(const ResourceFieldSelector& selector,
                                    const EnvironmentInput& in) {
  bool defaulted = true;
  const kube::Container* container = FindContainer(in, selector.container_name(), defaulted);
  if (container == nullptr)
    return InvalidArgument("container {} not found", selector.container_name());
  const std::string& path = selector.resource();
  const bool limit = path.starts_with("limits."), request = path.starts_with("requests.");
  if (!limit && !request) return InvalidArgument("unsupported container resource : {}", path);
  const std::string name = path.substr(path.find('.') + 1);
  const bool milli = name == "cpu";
  std::optional<int64_t> value = limit ? LimitOf(container->resources(), name, milli)
                                       : RequestOf(container->resources(), name, milli);
  if (!value && limit && defaulted) value = DefaultLimit(in, name, milli);
  auto divisor = kube::Quantity::Parse(selector.divisor().string());
  int64_t unit = divisor.ok() ? (milli ? divisor->MilliValue() : divisor->Value()) : 0;
  if (unit <= 0) unit = milli ? 1000 : 1;
  const int64_t amount = value.value_or(0);
  return std::to_string(amount / unit + (amount % unit != 0 ? 1 : 0));
}

/// Unset: it may be left out, and there is none. One that is there and cannot be used is an error.
StatusOr<std::optional<std::string>> FileValue(
    const k8s::io::api::core::v1::FileKeySelector& selector, const EnvFiles& files) {
  const auto file = files.find({selector.volume_name(), selector.path()});
  if (file == files.end())
    return InvalidArgument("no volume {} to read {} from", selector.volume_name(), selector.path());
  if (file->second.status().code() == StatusCode::kNotFound && selector.optional())
    return std::optional<std::string>();
  const auto named = [&](const Status& status) {
    return InvalidArgument("couldn't parse env file {} of volume {}: {}", selector.path(),
                           selector.volume_name(), Message(status));
  };
  if (!file->second.ok()) return named(file->second.status());
  auto variables = kube::ParseEnvFile(*file->second);
  if (!variables.ok()) return named(variables.status());
  std::string& value = (*variables)[selector.key()];
  if (!value.empty()) return std::optional<std::string>(std::move(value));
  if (selector.optional()) return std::optional<std::string>();
  return InvalidArgument("environment variable key \"{}\" not found in file \"{}\"", selector.key(),
                         selector.path());
}

/// Unset: it is left out.
StatusOr<std::optional<std::string>> ValueFrom(const EnvVar& variable, const EnvironmentInput& in) {
  const auto& source = variable.value_from();
  const auto given = [](StatusOr<std::string> value) -> StatusOr<std::optional<std::string>> {
    if (!value.ok()) return value.status();
    return std::optional<std::string>(*std::move(value));
  };
  if (source.has_field_ref()) return given(FieldValue(source.field_ref().field_path(), in));
  if (source.has_resource_field_ref()) return given(ResourceValue(source.resource_field_ref(), in));
  if (source.has_file_key_ref()) return FileValue(source.file_key_ref(), in.files);
  if (in.objects != nullptr)
    return ValueFromObject(source, in.pod.metadata().namespace_(), *in.objects);
  const bool optional =
      source.config_map_key_ref().optional() || source.secret_key_ref().optional();
  if (optional) return std::optional<std::string>();
  return InvalidArgument("env {}: there are no config maps and secrets on this node",
                         variable.name());
}

/// Those of services give way to all others, and are known to all.
StatusOr<std::map<std::string, std::string>> ServiceVariablesOf(const EnvironmentInput& in) {
  std::vector<ObjectPtr<Service>> services;
  if (in.objects == nullptr) return ServiceVariables(services);
  const std::string& own = in.pod.metadata().namespace_();
  auto master = in.objects->Services(std::string(kDefaultNamespace));
  if (!master.ok()) return master.status();
  for (auto& service : *master)
    if (service->metadata().name() == kMasterService) services.push_back(std::move(service));
  if (in.pod.spec().enable_service_links()) {
    auto all = in.objects->Services(own);
    if (!all.ok()) return all.status();
    services.insert(services.end(), all->begin(), all->end());
  }
  return ServiceVariables(services);
}

/// In the order in which they came first; the last value of a name counts.
class Collected {
 public:
  void Set(const std::string& name, const std::string& value) {
    known_[name] = value;
    const auto [at, added] = places_.emplace(name, list_.size());
    if (added) {
      list_.emplace_back(name, value);
    } else {
      list_[at->second].second = value;
    }
  }
  /// Known to all, and in the list unless something else has the name.
  void AddServices(const std::map<std::string, std::string>& variables) {
    known_.insert(variables.begin(), variables.end());
  }
  const std::map<std::string, std::string>& known() const { return known_; }
  Environment Take(const std::map<std::string, std::string>& services) {
    for (const auto& [name, value] : services)
      if (!places_.contains(name)) list_.emplace_back(name, value);
    return std::move(list_);
  }

 private:
  Environment list_;
  std::map<std::string, size_t> places_;
  std::map<std::string, std::string> known_;
};

}  // namespace

std::string Expand(const std::string& text, const std::map<std::string, std::string>& known) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '$') {
      out += '$';
      ++i;
      continue;
    }
    const size_t end = text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
    if (end == std::string::npos) {
      out += '$';
      continue;
    }
    const auto found = known.find(text.substr(i + 2, end - i - 2));
    out += found == known.end() ? text.substr(i, end - i + 1) : found->second;
    i = end;
  }
  return out;
}

StatusOr<Environment> MakeEnvironment(const EnvironmentInput& in) {
  auto services = ServiceVariablesOf(in);
  if (!services.ok()) return services.status();
  Collected out;
  out.AddServices(*services);
  for (const auto& from : in.container.env_from()) {
    if (in.objects == nullptr) {
      const bool optional = from.has_config_map_ref() ? from.config_map_ref().optional()
                                                      : from.secret_ref().optional();
      if (optional) continue;
      return InvalidArgument("envFrom: there are no config maps and secrets on this node");
    }
    auto values = ValuesFromObject(from, in.pod.metadata().namespace_(), *in.objects);
    if (!values.ok()) return values.status();
    for (const auto& [name, value] : *values) out.Set(name, value);
  }
  for (const auto& variable : in.container.env()) {
    if (!variable.value().empty() || !variable.has_value_from()) {
      out.Set(variable.name(), Expand(variable.value(), out.known()));
      continue;
    }
    auto value = ValueFrom(variable, in);
    if (!value.ok()) return value.status();
    if (value->has_value()) out.Set(variable.name(), **value);
  }
  return out.Take(*services);
}

}  // namespace splitlet::pod_worker
