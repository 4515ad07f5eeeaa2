#include "services/pod-worker/images/credentials.h"

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint64_t kMaxFile = 1 << 20;

struct SecretKind {
  std::string_view type;
  const char* key;
  Keyring::Shape shape;
};
constexpr SecretKind kKinds[] = {
    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson", Keyring::Shape::kAuths},
    {"kubernetes.io/dockercfg", ".dockercfg", Keyring::Shape::kMap},
};

/// A secret of another type has no credentials of registries.
Status AddSecret(const Secret& secret, Keyring& keyring) {
  const auto& meta = secret.metadata();
  for (const auto& kind : kKinds) {
    const auto found = secret.data().find(kind.key);
    if (secret.type() != kind.type || found == secret.data().end()) continue;
    const Status added = keyring.Add(found->second, kind.shape,
                                     SecretRef{meta.uid(), meta.namespace_(), meta.name()});
    if (!added.ok())
      return InvalidArgument("pull secret {}/{}: {}: {}", meta.namespace_(), meta.name(), kind.key,
                             Message(added));
  }
  return OkStatus();
}

}  // namespace

StatusOr<PullSecrets> PullSecretsOf(const kube::Pod& pod, const ObjectSource* objects) {
  PullSecrets secrets;
  for (const auto& reference : pod.spec().image_pull_secrets()) {
    const std::string& name = reference.name();
    if (name.empty()) continue;
    StatusOr<ObjectPtr<Secret>> secret = NotFound("this node has no objects");
    if (objects != nullptr) secret = objects->GetSecret({pod.metadata().namespace_(), name});
    if (!secret.ok()) {
      secrets.missing.push_back(name);
      continue;
    }
    if (Status added = AddSecret(**secret, secrets.keyring); !added.ok()) return added;
  }
  return secrets;
}

std::optional<AccountRef> AccountOf(const kube::Pod& pod, const ObjectSource* objects) {
  const std::string& name = pod.spec().service_account_name();
  if (name.empty() || objects == nullptr) return std::nullopt;
  const auto account = objects->GetServiceAccount({pod.metadata().namespace_(), name});
  if (!account.ok()) return std::nullopt;
  return AccountRef{(*account)->metadata().uid(), pod.metadata().namespace_(), name};
}

NodeCredentials::NodeCredentials(fs::FileSystem& files, const std::string& root_dir,
                                 const std::string& home)
    : files_(files) {
  using Shape = Keyring::Shape;
  places_.push_back({root_dir + "/config.json", Shape::kAuths});
  places_.push_back({"/config.json", Shape::kAuths});
  if (!home.empty()) places_.push_back({home + "/.docker/config.json", Shape::kAuths});
  places_.push_back({"/.docker/config.json", Shape::kAuths});
  places_.push_back({root_dir + "/.dockercfg", Shape::kMap});
  places_.push_back({"/.dockercfg", Shape::kMap});
  if (!home.empty()) places_.push_back({home + "/.dockercfg", Shape::kMap});
}

Keyring NodeCredentials::Read(std::vector<std::string>& problems) const {
  for (const auto& place : places_) {
    const auto text = files_.Read(place.path, kMaxFile);
    if (text.status().code() == StatusCode::kNotFound) continue;
    Keyring keyring;
    const Status read = text.ok() ? keyring.Add(*text, place.shape, std::nullopt) : text.status();
    if (read.ok()) return keyring;
    problems.push_back(fmt::format("{}: {}", place.path, Message(read)));
  }
  return {};
}

}  // namespace splitlet::pod_worker
