#include "libs/kube/validation.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/json_text.h"
#include "libs/kube/names.h"
#include "libs/kube/validate_container.h"
#include "libs/kube/validate_metadata.h"
#include "libs/kube/validate_resources.h"
#include "libs/kube/validate_scheduling.h"
#include "libs/kube/validate_security.h"
#include "libs/kube/validate_volumes.h"
#include "libs/kube/validation_parts.h"

namespace splitlet::kube {
namespace {

constexpr int64_t kMaxInt32 = 2'147'483'647;

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

void ValidateDns(const PodSpec& spec, FieldErrors& errors) {
  const std::string& policy = spec.dns_policy();
  if (policy != "ClusterFirstWithHostNet" && policy != "ClusterFirst" && policy != "Default" &&
      policy != "None")
    errors.Unsupported("spec.dnsPolicy", policy,
                       {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  const auto& config = spec.dns_config();
  if (policy == "None" && config.nameservers_size() == 0)
    errors.Required("spec.dnsConfig.nameservers",
                    "must provide at least one DNS nameserver when `dnsPolicy` is None");
  if (config.nameservers_size() > 3)
    errors.TooMany("spec.dnsConfig.nameservers", static_cast<size_t>(config.nameservers_size()), 3);
  for (int i = 0; i < config.nameservers_size(); ++i)
    if (!IsIp(config.nameservers(i)))
      errors.Invalid(At("spec.dnsConfig.nameservers", i), config.nameservers(i),
                     "must be an IP address");
  if (config.searches_size() > 32)
    errors.TooMany("spec.dnsConfig.searches", static_cast<size_t>(config.searches_size()), 32);
  size_t characters = 0;
  for (int i = 0; i < config.searches_size(); ++i) {
    std::string search = config.searches(i);
    characters += search.size() + (i > 0 ? 1 : 0);
    if (search.size() > 1 && search.back() == '.') search.pop_back();
    if (search != ".")
      errors.Check(At("spec.dnsConfig.searches", i), search, CheckDnsSearch(search));
  }
  if (characters > 2048) errors.TooLong("spec.dnsConfig.searches", 2048);
  for (int i = 0; i < config.options_size(); ++i)
    if (config.options(i).name().empty())
      errors.Required(Field(At("spec.dnsConfig.options", i), "name"));
}

void ValidateHostNames(const PodSpec& spec, FieldErrors& errors) {
  if (!spec.hostname().empty())
    errors.Check("spec.hostname", spec.hostname(), CheckDnsLabel(spec.hostname()));
  if (!spec.subdomain().empty())
    errors.Check("spec.subdomain", spec.subdomain(), CheckDnsLabel(spec.subdomain()));
  if (spec.has_hostname_override()) {
    const std::string& name = spec.hostname_override();
    if (name.size() > 64) errors.TooLong("spec.hostnameOverride", 64);
    errors.Check("spec.hostnameOverride", name, CheckDnsSubdomain(name));
    if (spec.host_network())
      errors.Forbidden("spec.hostnameOverride", "may not be set with `hostNetwork`");
    if (spec.set_hostname_as_fqdn())
      errors.Forbidden("spec.hostnameOverride", "may not be set with `setHostnameAsFQDN`");
  }
  for (int i = 0; i < spec.host_aliases_size(); ++i) {
    const auto& alias = spec.host_aliases(i);
    const std::string path = At("spec.hostAliases", i);
    if (!IsIp(alias.ip())) errors.Invalid(Field(path, "ip"), alias.ip(), "must be an IP address");
    for (int k = 0; k < alias.hostnames_size(); ++k)
      errors.Check(At(Field(path, "hostnames"), k), alias.hostnames(k),
                   CheckDnsSubdomain(alias.hostnames(k)));
  }
}

void ValidateSpec(const ValidationContext& context, FieldErrors& errors) {
  const PodSpec& spec = context.pod.spec();
  ValidateVolumes(spec, errors);
  ValidateContainers(context, errors);
  ValidatePodResources(context, errors);
  const std::string& restart = spec.restart_policy();
  if (restart != "Always" && restart != "OnFailure" && restart != "Never")
    errors.Unsupported("spec.restartPolicy", restart, {"Always", "OnFailure", "Never"});
  ValidateDns(spec, errors);
  ValidateSecurity(spec, errors);
  if (!spec.service_account_name().empty())
    errors.Check("spec.serviceAccountName", spec.service_account_name(),
                 CheckDnsSubdomain(spec.service_account_name()));
  ValidateScheduling(spec, errors);
  ValidateHostNames(spec, errors);
  if (spec.has_active_deadline_seconds() &&
      (spec.active_deadline_seconds() < 1 || spec.active_deadline_seconds() > kMaxInt32))
    errors.Invalid("spec.activeDeadlineSeconds", spec.active_deadline_seconds(),
                   "must be in 1..2147483647");
  if (!spec.priority_class_name().empty())
    errors.Check("spec.priorityClassName", spec.priority_class_name(),
                 CheckDnsSubdomain(spec.priority_class_name()));
  if (!spec.runtime_class_name().empty())
    errors.Check("spec.runtimeClassName", spec.runtime_class_name(),
                 CheckDnsSubdomain(spec.runtime_class_name()));
  const std::string& preemption = spec.preemption_policy();
  if (!preemption.empty() && preemption != "Never" && preemption != "PreemptLowerPriority")
    errors.Unsupported("spec.preemptionPolicy", preemption, {"Never", "PreemptLowerPriority"});
  if (spec.has_os() && spec.os().name() != "linux" && spec.os().name() != "windows")
    errors.Unsupported("spec.os.name", spec.os().name(), {"linux", "windows"});
}

}  // namespace

std::string FieldError::ToString() const {
  std::string text = path + ": " + kind;
  if (!value.empty()) text += ": " + value;
  if (!detail.empty()) text += ": " + detail;
  return text;
}

void FieldErrors::Required(std::string path, std::string detail) {
  errors_.push_back({std::move(path), "Required value", {}, std::move(detail)});
}
void FieldErrors::Invalid(std::string path, std::string_view value, std::string detail) {
  errors_.push_back({std::move(path), "Invalid value", Quoted(value), std::move(detail)});
}
void FieldErrors::Invalid(std::string path, int64_t value, std::string detail) {
  errors_.push_back({std::move(path), "Invalid value", std::to_string(value), std::move(detail)});
}
void FieldErrors::Duplicate(std::string path, std::string_view value) {
  errors_.push_back({std::move(path), "Duplicate value", Quoted(value), {}});
}
void FieldErrors::Unsupported(std::string path, std::string_view value,
                              const std::vector<std::string_view>& supported) {
  std::string detail = "supported values: ";
  for (size_t i = 0; i < supported.size(); ++i)
    detail += (i > 0 ? ", " : "") + Quoted(supported[i]);
  errors_.push_back({std::move(path), "Unsupported value", Quoted(value), std::move(detail)});
}
void FieldErrors::Forbidden(std::string path, std::string detail) {
  errors_.push_back({std::move(path), "Forbidden", {}, std::move(detail)});
}
void FieldErrors::NotFound(std::string path, std::string_view value) {
  errors_.push_back({std::move(path), "Not found", Quoted(value), {}});
}
void FieldErrors::TooLong(std::string path, size_t limit) {
  errors_.push_back(
      {std::move(path), "Too long", {}, fmt::format("may not be more than {} bytes", limit)});
}
void FieldErrors::TooMany(std::string path, size_t count, size_t limit) {
  errors_.push_back({std::move(path), "Too many", std::to_string(count),
                     fmt::format("must have at most {} items", limit)});
}
void FieldErrors::Check(const std::string& path, std::string_view value,
                        const std::string& problem) {
  if (!problem.empty()) Invalid(path, value, problem);
}

std::vector<FieldError> ValidatePod(const Pod& pod) {
  FieldErrors errors;
  ValidationContext context{.pod = pod};
  for (const auto& volume : pod.spec().volumes())
    context.volumes.emplace(volume.name(), volume.volume_source().has_empty_dir());
  for (const auto& claim : pod.spec().resource_claims()) context.claims.insert(claim.name());
  ValidateMetadata(pod, errors);
  ValidateSpec(context, errors);
  return errors.Take();
}

Status ToStatus(const std::vector<FieldError>& errors) {
  if (errors.empty()) return OkStatus();
  std::string text = "invalid pod: [";
  for (size_t i = 0; i < errors.size(); ++i) text += (i > 0 ? " " : "") + errors[i].ToString();
  return InvalidArgument("{}]", text);
}

}  // namespace splitlet::kube
