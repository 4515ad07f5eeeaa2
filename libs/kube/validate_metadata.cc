#include "libs/kube/validate_metadata.h"

#include <algorithm>
#include <charconv>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/security.pb.h"
#include "libs/kube/json_text.h"
#include "libs/kube/names.h"

namespace splitlet::kube {
namespace {

constexpr size_t kMaxAnnotationBytes = 262'144;
constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
constexpr const char* kSeccompOfPod = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kSeccompOf = "container.seccomp.security.alpha.kubernetes.io/";
constexpr std::string_view kApparmorOf = "container.apparmor.security.beta.kubernetes.io/";
constexpr std::string_view kLocalhost = "localhost/";

void ValidateOwners(const ObjectMeta& metadata, FieldErrors& errors) {
  int controllers = 0;
  for (int i = 0; i < metadata.owner_references_size(); ++i) {
    const auto& owner = metadata.owner_references(i);
    const std::string path = At("metadata.ownerReferences", i);
    if (owner.api_version().empty()) errors.Required(Field(path, "apiVersion"));
    if (owner.kind().empty()) errors.Required(Field(path, "kind"));
    if (owner.name().empty()) errors.Required(Field(path, "name"));
    if (owner.uid().empty()) errors.Required(Field(path, "uid"));
    controllers += owner.controller() ? 1 : 0;
  }
  if (controllers > 1)
    errors.Invalid("metadata.ownerReferences", controllers, "only one owner may be the controller");
}

/// A plain number: no '+', no leading zero.
bool IsInt32(const std::string& text) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::to_string(number) == text;
}

/// With the wording of the deprecated annotations.
template <class Profile>
std::string InOldWords(const Profile& profile) {
  if (profile.type() == "RuntimeDefault") return "runtime/default";
  if (profile.type() == "Unconfined") return "unconfined";
  return std::string(kLocalhost) + profile.localhost_profile();
}

/// An annotation and the field that replaced it may both be set, but must agree.
template <class Profile>
void CheckMatch(const std::string& annotation, const Profile& field, const std::string& path,
                FieldErrors& errors) {
  const std::string said = InOldWords(field);
  const bool docker = annotation == "docker/default" && said == "runtime/default";
  if (annotation == said || docker) return;
  const bool local = said.starts_with(kLocalhost) && annotation.starts_with(kLocalhost);
  errors.Forbidden(
      Field(path, local ? "localhostProfile" : "type"),
      fmt::format("{} in annotation and field must match", local ? "profile" : "type"));
}

void CheckSeccomp(const std::string& profile, const std::string& path, FieldErrors& errors) {
  if (profile == "runtime/default" || profile == "docker/default" || profile == "unconfined")
    return;
  if (!profile.starts_with(kLocalhost))
    return errors.Invalid(path, profile, "must be a valid seccomp profile");
  const std::string file = profile.substr(kLocalhost.size());
  if (file.starts_with('/')) return errors.Invalid(path, file, "must be a relative path");
  if (HasParentStep(file)) errors.Invalid(path, file, "must not contain '..'");
}

bool IsApparmor(const std::string& profile) {
  return profile.empty() || profile == "runtime/default" || profile == "unconfined" ||
         profile.starts_with(kLocalhost);
}

bool HasContainer(const PodSpec& spec, std::string_view name) {
  const auto named = [name](const Container& container) { return container.name() == name; };
  return std::any_of(spec.containers().begin(), spec.containers().end(), named) ||
         std::any_of(spec.init_containers().begin(), spec.init_containers().end(), named);
}

void ValidateProfiles(const Pod& pod, const Container& container, const std::string& path,
                      FieldErrors& errors) {
  const auto& annotations = pod.metadata().annotations();
  const auto& context = container.security_context();
  const auto seccomp = annotations.find(std::string(kSeccompOf) + container.name());
  if (seccomp != annotations.end() && context.has_seccomp_profile())
    CheckMatch(seccomp->second, context.seccomp_profile(),
               Field(path, "securityContext.seccompProfile"), errors);
  const auto apparmor = annotations.find(std::string(kApparmorOf) + container.name());
  if (apparmor != annotations.end() && context.has_app_armor_profile())
    CheckMatch(apparmor->second, context.app_armor_profile(),
               Field(path, "securityContext.appArmorProfile"), errors);
}

void ValidateAnnotations(const Pod& pod, FieldErrors& errors) {
  const auto& annotations = pod.metadata().annotations();
  const PodSpec& spec = pod.spec();
  const std::string path = "metadata.annotations";
  for (const auto& [key, value] :
       std::map<std::string, std::string>(annotations.begin(), annotations.end())) {
    if (key == kDeletionCost && !IsInt32(value))
      errors.Invalid(AtKey(path, key), value, "must be a 32bit integer");
    if (key == kSeccompOfPod || key.starts_with(kSeccompOf))
      CheckSeccomp(value, AtKey(path, key), errors);
    if (!key.starts_with(kApparmorOf)) continue;
    const std::string container = key.substr(kApparmorOf.size());
    if (!HasContainer(spec, container))
      errors.Invalid(AtKey(path, key), container, "container not found");
    if (IsApparmor(value)) continue;
    std::string why = "invalid AppArmor profile name: ";
    AppendJsonString(why, value);
    errors.Invalid(AtKey(path, key), value, why);
  }
  const auto of_pod = annotations.find(kSeccompOfPod);
  if (of_pod != annotations.end() && spec.security_context().has_seccomp_profile())
    CheckMatch(of_pod->second, spec.security_context().seccomp_profile(),
               "spec.securityContext.seccompProfile", errors);
  for (int i = 0; i < spec.init_containers_size(); ++i)
    ValidateProfiles(pod, spec.init_containers(i), At("spec.initContainers", i), errors);
  for (int i = 0; i < spec.containers_size(); ++i)
    ValidateProfiles(pod, spec.containers(i), At("spec.containers", i), errors);
}

}  // namespace

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return text;
}

void ValidateMetadata(const Pod& pod, FieldErrors& errors) {
  const ObjectMeta& metadata = pod.metadata();
  if (metadata.name().empty()) {
    errors.Required("metadata.name", "name or generateName is required");
  } else {
    errors.Check("metadata.name", metadata.name(), CheckDnsSubdomain(metadata.name()));
  }
  if (metadata.namespace_().empty()) {
    errors.Required("metadata.namespace");
  } else {
    errors.Check("metadata.namespace", metadata.namespace_(), CheckDnsLabel(metadata.namespace_()));
  }
  using Sorted = std::map<std::string, std::string>;
  for (const auto& [key, value] : Sorted(metadata.labels().begin(), metadata.labels().end())) {
    errors.Check("metadata.labels", key, CheckQualifiedName(key));
    errors.Check(AtKey("metadata.labels", key), value, CheckLabelValue(value));
  }
  size_t bytes = 0;
  for (const auto& [key, value] :
       Sorted(metadata.annotations().begin(), metadata.annotations().end())) {
    errors.Check("metadata.annotations", key, CheckQualifiedName(LowerCase(key)));
    // Skips annotations that config-source adds.
    if (key != kConfigSource && key != kConfigSeen) bytes += key.size() + value.size();
  }
  if (bytes > kMaxAnnotationBytes) errors.TooLong("metadata.annotations", kMaxAnnotationBytes);
  for (int i = 0; i < metadata.finalizers_size(); ++i)
    errors.Check(At("metadata.finalizers", i), metadata.finalizers(i),
                 CheckQualifiedName(metadata.finalizers(i)));
  ValidateOwners(metadata, errors);
  ValidateAnnotations(pod, errors);
}

}  // namespace splitlet::kube
