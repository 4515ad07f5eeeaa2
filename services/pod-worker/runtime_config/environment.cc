#include "services/pod-worker/runtime_config/environment.h"

#include <algorithm>
#include <optional>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "libs/kube/env_file.h"
#include "libs/kube/quantity.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/resources.h"

namespace splitlet::pod_worker {

namespace {

using k8s::io::api::core::v1::EnvVar;
using k8s::io::api::core::v1::ResourceFieldSelector;

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

StatusOr<std::string> SourceValue(const EnvVar& variable, const EnvironmentInput& in) {
  const auto& source = variable.value_from();
  if (source.has_field_ref()) return FieldValue(source.field_ref().field_path(), in);
  if (source.has_resource_field_ref()) return ResourceValue(source.resource_field_ref(), in);
  return InvalidArgument("env {}: values from config maps and secrets are not supported",
                         variable.name());
}

bool MayBeLeftOut(const EnvVar& variable) {
  const auto& source = variable.value_from();
  return (source.has_config_map_key_ref() && source.config_map_key_ref().optional()) ||
         (source.has_secret_key_ref() && source.secret_key_ref().optional());
}

void Set(const std::string& name, const std::string& value, Environment& out) {
  for (auto& [known, old] : out) {
    if (known != name) continue;
    old = value;
    return;
  }
  out.emplace_back(name, value);
}

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
  for (const auto& from : in.container.env_from()) {
    const bool optional =
        from.has_config_map_ref() ? from.config_map_ref().optional() : from.secret_ref().optional();
    if (!optional) return InvalidArgument("envFrom is not supported");
  }
  Environment out;
  std::map<std::string, std::string> known;
  for (const auto& variable : in.container.env()) {
    std::string value;
    if (!variable.value().empty() || !variable.has_value_from()) {
      value = Expand(variable.value(), known);
    } else if (MayBeLeftOut(variable)) {
      continue;
    } else if (variable.value_from().has_file_key_ref()) {
      auto from = FileValue(variable.value_from().file_key_ref(), in.files);
      if (!from.ok()) return from.status();
      if (!from->has_value()) continue;
      value = **std::move(from);
    } else {
      auto from = SourceValue(variable, in);
      if (!from.ok()) return from.status();
      value = std::move(from).value();
    }
    known[variable.name()] = value;
    Set(variable.name(), value, out);
  }
  return out;
}

}  // namespace splitlet::pod_worker
