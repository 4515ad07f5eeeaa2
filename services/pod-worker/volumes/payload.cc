#include "services/pod-worker/volumes/payload.h"

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "services/pod-worker/runtime_config/downward.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

namespace {

using Values = std::map<std::string, std::string>;

constexpr uint32_t kPrivate = 0600;

/// The values of an object, and the error text for a missing key.
struct Source {
  StatusOr<Values> values;
  bool optional = false;
  std::string_view missing_key;  // the error text before the key
};

StatusOr<Values> ValuesOfConfigMap(const std::string& name, const PayloadInput& in) {
  if (in.objects == nullptr) return NotFound("there are no config maps on this node");
  auto object = in.objects->GetConfigMap({in.pod.metadata().namespace_(), name});
  if (!object.ok()) return object.status();
  Values values((*object)->data().begin(), (*object)->data().end());
  values.insert((*object)->binary_data().begin(), (*object)->binary_data().end());
  return values;
}

StatusOr<Values> ValuesOfSecret(const std::string& name, const PayloadInput& in) {
  if (in.objects == nullptr) return NotFound("there are no secrets on this node");
  auto object = in.objects->GetSecret({in.pod.metadata().namespace_(), name});
  if (!object.ok()) return object.status();
  return Values((*object)->data().begin(), (*object)->data().end());
}

template <class Items>
Status AddObject(Source source, const Items& items, uint32_t mode, Payload& out) {
  if (!source.values.ok()) {
    const bool missing = source.values.status().code() == StatusCode::kNotFound;
    return missing && source.optional ? OkStatus() : source.values.status();
  }
  if (items.empty()) {
    for (auto& [key, value] : *source.values) out[key] = {std::move(value), mode};
    return OkStatus();
  }
  for (const auto& item : items) {
    const auto found = source.values->find(item.key());
    if (found == source.values->end()) {
      if (source.optional) continue;
      return InvalidArgument("{}: {}", source.missing_key, item.key());
    }
    out[item.path()] = {found->second, item.has_mode() ? static_cast<uint32_t>(item.mode()) : mode};
  }
  return OkStatus();
}

template <class Items>
Status AddDownward(const Items& items, uint32_t mode, const PayloadInput& in, Payload& out) {
  static const PodAddresses kNoAddresses;  // volumes show no addresses
  const DownwardInput from{in.pod, in.node, kNoAddresses};
  for (const auto& item : items) {
    auto value = item.has_field_ref() ? FieldValue(item.field_ref().field_path(), from)
                                      : ResourceValue(item.resource_field_ref(), from);
    if (!value.ok()) return value.status();
    out[item.path()] = {*std::move(value),
                        item.has_mode() ? static_cast<uint32_t>(item.mode()) : mode};
  }
  return OkStatus();
}

template <class Reference>
Status AddConfigMap(const Reference& from, uint32_t mode, const PayloadInput& in, Payload& out) {
  return AddObject({ValuesOfConfigMap(from.local_object_reference().name(), in), from.optional(),
                    "configmap references non-existent config key"},
                   from.items(), mode, out);
}

/// The user of all containers; unset: they differ, or one sets none.
std::optional<uint32_t> UserOf(const kube::Pod& pod) {
  std::optional<int64_t> user;
  bool first = true;
  for (const auto* list : {&pod.spec().init_containers(), &pod.spec().containers()}) {
    for (const auto& container : *list) {
      const auto& own = container.security_context();
      const auto& all = pod.spec().security_context();
      if (!own.has_run_as_user() && !all.has_run_as_user()) return std::nullopt;
      const int64_t id = own.has_run_as_user() ? own.run_as_user() : all.run_as_user();
      if (!first && user != id) return std::nullopt;
      user = id;
      first = false;
    }
  }
  if (!user) return std::nullopt;
  return static_cast<uint32_t>(*user);
}

/// Where the reader is known, other users of the pod may not read the token.
Status AddToken(const k8s::io::api::core::v1::ServiceAccountTokenProjection& from, uint32_t mode,
                const PayloadInput& in, Payload& out) {
  if (in.objects == nullptr) return Unimplemented("a service account token needs an API server");
  auto token = in.objects->GetToken({from.audience(), from.expiration_seconds()});
  if (!token.ok()) return token.status();
  const auto user = UserOf(in.pod);
  const bool known = user || in.pod.spec().security_context().has_fs_group();
  out[from.path()] = {*std::move(token), known ? kPrivate : mode, user};
  return OkStatus();
}

Status AddPart(const k8s::io::api::core::v1::VolumeProjection& part, uint32_t mode,
               const PayloadInput& in, Payload& out) {
  if (part.has_config_map()) return AddConfigMap(part.config_map(), mode, in, out);
  if (part.has_downward_api()) return AddDownward(part.downward_api().items(), mode, in, out);
  if (part.has_secret()) {
    const auto& from = part.secret();
    return AddObject({ValuesOfSecret(from.local_object_reference().name(), in), from.optional(),
                      "references non-existent secret key"},
                     from.items(), mode, out);
  }
  if (part.has_service_account_token())
    return AddToken(part.service_account_token(), mode, in, out);
  // The kubelet of this version has the feature gates of both off.
  if (part.has_cluster_trust_bundle())
    return Unimplemented("ClusterTrustBundle projection is not supported in this version");
  if (part.has_pod_certificate())
    return Unimplemented("PodCertificate projection is not supported in this version");
  return Unimplemented("this version projects config maps, secrets, tokens and the downward API");
}

/// Defaulting sets the mode. Without it no one has decided who may read the files.
template <class Volume>
StatusOr<uint32_t> DefaultMode(const Volume& source) {
  if (!source.has_default_mode())
    return InvalidArgument("no defaultMode used, not even the default value for it");
  return static_cast<uint32_t>(source.default_mode());
}

}  // namespace

StatusOr<Payload> MakePayload(const kube::Volume& volume, const PayloadInput& in) {
  const VolumeSource& source = volume.volume_source();
  Payload out;
  Status added;
  StatusOr<uint32_t> mode = 0u;
  if (source.has_config_map()) {
    mode = DefaultMode(source.config_map());
    if (mode.ok()) added = AddConfigMap(source.config_map(), *mode, in, out);
  } else if (source.has_secret()) {
    const auto& from = source.secret();
    mode = DefaultMode(from);
    if (mode.ok())
      added = AddObject({ValuesOfSecret(from.secret_name(), in), from.optional(),
                         "references non-existent secret key"},
                        from.items(), *mode, out);
  } else if (source.has_downward_api()) {
    mode = DefaultMode(source.downward_api());
    if (mode.ok()) added = AddDownward(source.downward_api().items(), *mode, in, out);
  } else {
    mode = DefaultMode(source.projected());
    for (const auto& part : source.projected().sources())
      if (mode.ok() && added.ok()) added = AddPart(part, *mode, in, out);
  }
  if (!mode.ok()) return mode.status();
  if (!added.ok()) return added;
  return out;
}

}  // namespace splitlet::pod_worker
