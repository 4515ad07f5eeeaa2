#include "libs/kube/validate_env.h"

#include <algorithm>
#include <array>
#include <optional>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/names.h"
#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"
#include "libs/kube/validate_metadata.h"
#include "libs/kube/validation_parts.h"

namespace splitlet::kube {
namespace {

namespace core = k8s::io::api::core::v1;

constexpr std::array<std::string_view, 9> kPaths = {"metadata.name",
                                                    "metadata.namespace",
                                                    "metadata.uid",
                                                    "spec.nodeName",
                                                    "spec.serviceAccountName",
                                                    "status.hostIP",
                                                    "status.hostIPs",
                                                    "status.podIP",
                                                    "status.podIPs"};

/// A file can contain all labels, but no values that are unknown before the pod runs.
constexpr std::array<std::string_view, 5> kVolumePaths = {"metadata.annotations", "metadata.labels",
                                                          "metadata.name", "metadata.namespace",
                                                          "metadata.uid"};

/// The key in "metadata.labels['key']"; nullopt: not an element of `base`.
std::optional<std::string> SubscriptOf(std::string_view text, std::string_view base) {
  const bool is = text.size() >= base.size() + 4 && text.substr(0, base.size()) == base &&
                  text.substr(base.size(), 2) == "['" && text.substr(text.size() - 2) == "']";
  if (!is) return std::nullopt;
  return std::string(text.substr(base.size() + 2, text.size() - base.size() - 4));
}

template <class Known>
void ValidateFieldRef(const core::ObjectFieldSelector& ref, const Known& known,
                      const std::string& path, FieldErrors& errors) {
  const std::string& field = ref.field_path();
  if (field.empty()) return errors.Required(Field(path, "fieldPath"));
  if (ref.api_version() != "v1")
    errors.Unsupported(Field(path, "apiVersion"), ref.api_version(), {"v1"});
  if (std::find(known.begin(), known.end(), field) != known.end()) return;
  if (const auto key = SubscriptOf(field, "metadata.labels"))
    return errors.Check(path, *key, CheckQualifiedName(*key));
  if (const auto key = SubscriptOf(field, "metadata.annotations"))
    return errors.Check(path, *key, CheckQualifiedName(LowerCase(*key)));
  errors.Unsupported(Field(path, "fieldPath"), field, {known.begin(), known.end()});
}

void ValidateFileKeyRef(const core::FileKeySelector& ref, const ValidationContext& context,
                        const std::string& path, FieldErrors& errors) {
  errors.Check(Field(path, "key"), ref.key(), CheckEnvName(ref.key()));
  if (ref.path().empty()) errors.Required(Field(path, "path"));
  if (HasParentStep(ref.path()))
    errors.Invalid(Field(path, "path"), ref.path(), "must not contain '..'");
  const auto volume = context.volumes.find(ref.volume_name());
  if (volume == context.volumes.end()) {
    errors.NotFound(Field(path, "volumeName"), ref.volume_name());
  } else if (!volume->second) {
    errors.Invalid(Field(path, "volumeName"), ref.volume_name(), "must be an emptyDir volume");
  }
}

template <class Selector>
void ValidateKeyRef(const Selector& ref, const std::string& path, FieldErrors& errors) {
  if (ref.local_object_reference().name().empty()) errors.Required(Field(path, "name"));
  if (ref.key().empty()) errors.Required(Field(path, "key"));
}

void ValidateFrom(const core::EnvVar& env, const ValidationContext& context,
                  const std::string& path, FieldErrors& errors) {
  const auto& from = env.value_from();
  const int sources = from.has_field_ref() + from.has_resource_field_ref() +
                      from.has_config_map_key_ref() + from.has_secret_key_ref() +
                      from.has_file_key_ref();
  if (sources != 1)
    return errors.Invalid(
        path, "", sources == 0 ? "must specify one source" : "may not have more than one source");
  if (!env.value().empty())
    errors.Invalid(path, "", "may not be specified when `value` is not empty");
  if (from.has_field_ref())
    ValidateFieldRef(from.field_ref(), kPaths, Field(path, "fieldRef"), errors);
  if (from.has_resource_field_ref())
    ValidateResourceRef(from.resource_field_ref(), Field(path, "resourceFieldRef"), errors);
  if (from.has_config_map_key_ref())
    ValidateKeyRef(from.config_map_key_ref(), Field(path, "configMapKeyRef"), errors);
  if (from.has_secret_key_ref())
    ValidateKeyRef(from.secret_key_ref(), Field(path, "secretKeyRef"), errors);
  if (from.has_file_key_ref())
    ValidateFileKeyRef(from.file_key_ref(), context, Field(path, "fileKeyRef"), errors);
}

}  // namespace

void ValidateVolumeFieldRef(const core::ObjectFieldSelector& ref, const std::string& path,
                            FieldErrors& errors) {
  ValidateFieldRef(ref, kVolumePaths, path, errors);
}

void ValidateResourceRef(const core::ResourceFieldSelector& ref, const std::string& path,
                         FieldErrors& errors) {
  const std::string& resource = ref.resource();
  const size_t dot = resource.find('.');
  const std::string_view side = std::string_view(resource).substr(0, dot);
  const std::string_view name =
      dot == std::string::npos ? std::string_view() : std::string_view(resource).substr(dot + 1);
  const bool known = name == kEphemeralStorage || IsPodLevelResource(name);
  if (resource.empty()) return errors.Required(Field(path, "resource"));
  if ((side != "limits" && side != "requests") || !known)
    return errors.Unsupported(Field(path, "resource"), resource,
                              {"limits.cpu", "limits.ephemeral-storage", "limits.memory",
                               "requests.cpu", "requests.ephemeral-storage", "requests.memory"});
  if (!ref.has_divisor() || ref.divisor().string().empty() || ref.divisor().string() == "0") return;
  const std::string& divisor = ref.divisor().string();
  const std::vector<std::string_view> units =
      name == kCpu ? std::vector<std::string_view>{"1m", "1"}
                   : std::vector<std::string_view>{"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                                   "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  for (const auto unit : units)
    if (divisor == unit) return;
  errors.Unsupported(Field(path, "divisor"), divisor, units);
}

void ValidateEnv(const Container& container, const ValidationContext& context,
                 const std::string& path, FieldErrors& errors) {
  for (int i = 0; i < container.env_size(); ++i) {
    const std::string at = At(Field(path, "env"), i);
    const auto& env = container.env(i);
    if (env.name().empty()) {
      errors.Required(Field(at, "name"));
    } else {
      errors.Check(Field(at, "name"), env.name(), CheckEnvName(env.name()));
    }
    if (env.has_value_from()) ValidateFrom(env, context, Field(at, "valueFrom"), errors);
  }
  for (int i = 0; i < container.env_from_size(); ++i) {
    const std::string at = At(Field(path, "envFrom"), i);
    const auto& from = container.env_from(i);
    if (!from.prefix().empty())
      errors.Check(Field(at, "prefix"), from.prefix(), CheckEnvName(from.prefix()));
    if (from.has_config_map_ref() == from.has_secret_ref())
      errors.Invalid(at, "", "must specify one of: `configMapRef` or `secretRef`");
    if (from.has_config_map_ref() && from.config_map_ref().local_object_reference().name().empty())
      errors.Required(Field(at, "configMapRef.name"));
    if (from.has_secret_ref() && from.secret_ref().local_object_reference().name().empty())
      errors.Required(Field(at, "secretRef.name"));
  }
}

}  // namespace splitlet::kube
