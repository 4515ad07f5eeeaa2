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
#include "services/pod-worker/runtime_config/downward.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/runtime_config/resources.h"

namespace splitlet::pod_worker {

namespace {

using k8s::io::api::core::v1::EnvVar;

constexpr std::string_view kServiceNamespace = "default", kMasterService = "kubernetes";

/// Unset: an optional value is missing. A file that exists and cannot be used is an error.
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

/// Unset: an optional value is missing.
StatusOr<std::optional<std::string>> ValueFrom(const EnvVar& variable, const EnvironmentInput& in) {
  const auto& source = variable.value_from();
  const auto given = [](StatusOr<std::string> value) -> StatusOr<std::optional<std::string>> {
    if (!value.ok()) return value.status();
    return std::optional<std::string>(*std::move(value));
  };
  const DownwardInput down{in.pod, in.node, in.ips, &in.container};
  if (source.has_field_ref()) return given(FieldValue(source.field_ref().field_path(), down));
  if (source.has_resource_field_ref())
    return given(ResourceValue(source.resource_field_ref(), down));
  if (source.has_file_key_ref()) return FileValue(source.file_key_ref(), in.files);
  if (in.objects != nullptr)
    return ValueFromObject(source, in.pod.metadata().namespace_(), *in.objects);
  const bool optional =
      source.config_map_key_ref().optional() || source.secret_key_ref().optional();
  if (optional) return std::optional<std::string>();
  return InvalidArgument("env {}: there are no config maps and secrets on this node",
                         variable.name());
}

/// All other variables win over those of services, and may refer to them.
StatusOr<std::map<std::string, std::string>> ServiceVariablesOf(const EnvironmentInput& in) {
  std::vector<ObjectPtr<Service>> services;
  if (in.objects == nullptr) return ServiceVariables(services);
  const std::string& own = in.pod.metadata().namespace_();
  auto master = in.objects->Services(std::string(kServiceNamespace));
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

/// Variables in the order of their first appearance; the last value of a name counts.
class Collected {
 public:
  void Set(const std::string& name, const std::string& value) {
    known_[name] = value;
    const auto [at, added] = positions_.emplace(name, list_.size());
    if (added) {
      list_.emplace_back(name, value);
    } else {
      list_[at->second].second = value;
    }
  }
  /// Makes them known for expansion. Take adds those whose names are still free.
  void AddServices(const std::map<std::string, std::string>& variables) {
    known_.insert(variables.begin(), variables.end());
  }
  const std::map<std::string, std::string>& known() const { return known_; }
  Environment Take(const std::map<std::string, std::string>& services) {
    for (const auto& [name, value] : services)
      if (!positions_.contains(name)) list_.emplace_back(name, value);
    return std::move(list_);
  }

 private:
  Environment list_;
  std::map<std::string, size_t> positions_;
  std::map<std::string, std::string> known_;
};

}  // namespace

std::string Expand(const std::string& text, const std::map<std::string, std::string>& known) {
  return Expand(text, [&known](const std::string& name) -> std::optional<std::string> {
    const auto found = known.find(name);
    if (found == known.end()) return std::nullopt;
    return found->second;
  });
}

std::string Expand(const std::string& text, const Lookup& lookup) {
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
    out += lookup(text.substr(i + 2, end - i - 2)).value_or(text.substr(i, end - i + 1));
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
