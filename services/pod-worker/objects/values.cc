#include "services/pod-worker/objects/values.h"

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "libs/base/text.h"

namespace splitlet::pod_worker {
namespace {

using Values = std::map<std::string, std::string>;

Status CheckText(const std::string& value, const std::string& key, const ObjectName& name) {
  if (IsText(value)) return OkStatus();
  return InvalidArgument("key {} of {}/{} is not text, so it cannot be a variable", key,
                         name.name_space, name.name);
}

/// `what`: "ConfigMap" or "Secret".
template <class Object, class Selector>
StatusOr<std::optional<std::string>> ValueOf(const StatusOr<ObjectPtr<Object>>& object,
                                             const Selector& selector, const ObjectName& name,
                                             std::string_view what) {
  if (!object.ok()) {
    if (selector.optional() && object.status().code() == StatusCode::kNotFound)
      return std::optional<std::string>();
    return InvalidArgument("{}", Message(object.status()));
  }
  const auto found = (*object)->data().find(selector.key());
  if (found == (*object)->data().end()) {
    if (selector.optional()) return std::optional<std::string>();
    return InvalidArgument("couldn't find key {} in {} {}/{}", selector.key(), what,
                           name.name_space, name.name);
  }
  if (const Status text = CheckText(found->second, selector.key(), name); !text.ok()) return text;
  return std::optional<std::string>(found->second);
}

template <class Object>
StatusOr<Values> ValuesOf(const StatusOr<ObjectPtr<Object>>& object, bool optional,
                          const std::string& prefix, const ObjectName& name) {
  if (!object.ok()) {
    if (optional && object.status().code() == StatusCode::kNotFound) return Values();
    return InvalidArgument("{}", Message(object.status()));
  }
  Values values;
  for (const auto& [key, value] : (*object)->data()) {
    if (const Status text = CheckText(value, key, name); !text.ok()) return text;
    values[prefix + key] = value;
  }
  return values;
}

}  // namespace

StatusOr<std::optional<std::string>> ValueFromObject(
    const k8s::io::api::core::v1::EnvVarSource& from, const std::string& name_space,
    const ObjectSource& objects) {
  if (from.has_config_map_key_ref()) {
    const auto& selector = from.config_map_key_ref();
    const ObjectName name{name_space, selector.local_object_reference().name()};
    return ValueOf(objects.GetConfigMap(name), selector, name, "ConfigMap");
  }
  const auto& selector = from.secret_key_ref();
  const ObjectName name{name_space, selector.local_object_reference().name()};
  return ValueOf(objects.GetSecret(name), selector, name, "Secret");
}

StatusOr<Values> ValuesFromObject(const k8s::io::api::core::v1::EnvFromSource& from,
                                  const std::string& name_space, const ObjectSource& objects) {
  if (from.has_config_map_ref()) {
    const auto& ref = from.config_map_ref();
    const ObjectName name{name_space, ref.local_object_reference().name()};
    return ValuesOf(objects.GetConfigMap(name), ref.optional(), from.prefix(), name);
  }
  const auto& ref = from.secret_ref();
  const ObjectName name{name_space, ref.local_object_reference().name()};
  return ValuesOf(objects.GetSecret(name), ref.optional(), from.prefix(), name);
}

}  // namespace splitlet::pod_worker
