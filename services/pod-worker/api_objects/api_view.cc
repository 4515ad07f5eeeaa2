#include "services/pod-worker/api_objects/api_view.h"

#include <google/protobuf/message.h>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"

namespace splitlet::pod_worker {

namespace {

Status NotHeld(const ObjectName& name) {
  return Unavailable("object \"{}\"/\"{}\" not registered", name.name_space, name.name);
}

template <class T>
StatusOr<ObjectPtr<T>> FindIn(const ApiView::Known& known, const ObjectName& name) {
  const auto found = known.find(name.name);
  if (found == known.end()) return NotHeld(name);
  if (!found->second.ok()) return found->second.status();
  return std::static_pointer_cast<const T>(*found->second);
}

template <class T>
StatusOr<ObjectPtr<T>> NoneHere(std::string_view kind, const std::string& name) {
  return NotFound("{} \"{}\" not found", kind, name);
}

}  // namespace

StatusOr<ObjectPtr<ConfigMap>> ApiView::GetConfigMap(const ObjectName& name) const {
  return FindIn<ConfigMap>(content_.config_maps, name);
}

StatusOr<ObjectPtr<Secret>> ApiView::GetSecret(const ObjectName& name) const {
  return FindIn<Secret>(content_.secrets, name);
}

StatusOr<ObjectPtr<RuntimeClass>> ApiView::GetRuntimeClass(const std::string& name) const {
  if (content_.runtime_classes == nullptr) {
    const Status& why = content_.runtime_classes_trouble;
    return Unavailable("runtime classes have not yet been read at least once{}{}",
                       why.ok() ? "" : ": ", Message(why));
  }
  const auto found = content_.runtime_classes->find(name);
  if (found == content_.runtime_classes->end())
    return NotFound("runtimeclass.node.k8s.io \"{}\" not found", name);
  return std::static_pointer_cast<const RuntimeClass>(found->second);
}

StatusOr<ObjectPtr<Claim>> ApiView::GetClaim(const ObjectName& name) const {
  const auto found = content_.claims.find(name.name);
  if (found == content_.claims.end()) return NotHeld(name);
  return found->second.claim;
}

StatusOr<ObjectPtr<PersistentVolume>> ApiView::GetPersistentVolume(const std::string& name) const {
  for (const auto& [claim, found] : content_.claims)
    if (found.claim.ok() && (*found.claim)->spec().volume_name() == name) return found.volume;
  return NotHeld({"", name});
}

StatusOr<std::vector<ObjectPtr<Service>>> ApiView::Services(const std::string& name_space) const {
  if (content_.services == nullptr)
    return Unavailable("services have not yet been read at least once, cannot construct envvars");
  std::vector<ObjectPtr<Service>> services;
  const std::string prefix = name_space + "/";
  const auto& all = *content_.services;
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at)
    services.push_back(std::static_pointer_cast<const Service>(at->second));
  return services;
}

StatusOr<ObjectPtr<ServiceAccount>> ApiView::GetServiceAccount(const ObjectName& name) const {
  return FindIn<ServiceAccount>(content_.accounts, name);
}

StatusOr<std::string> ApiView::GetToken(const TokenWish& wish) const {
  const auto found = content_.tokens.find(wish);
  if (found == content_.tokens.end())
    return Unavailable("failed to fetch token: not requested yet");
  return found->second;
}

bool ApiView::MayUse(const ObjectName& claim) const {
  const auto found = content_.claims.find(claim.name);
  return found == content_.claims.end() || found->second.may_use;
}

StatusOr<ObjectPtr<ConfigMap>> StaticView::GetConfigMap(const ObjectName& name) const {
  return own_ ? own_->GetConfigMap(name) : NoneHere<ConfigMap>("configmap", name.name);
}

StatusOr<ObjectPtr<Secret>> StaticView::GetSecret(const ObjectName& name) const {
  return own_ ? own_->GetSecret(name) : NoneHere<Secret>("secret", name.name);
}

StatusOr<ObjectPtr<RuntimeClass>> StaticView::GetRuntimeClass(const std::string& name) const {
  if (own_ != nullptr)
    if (auto own = own_->GetRuntimeClass(name); own.ok()) return own;
  return api_->GetRuntimeClass(name);
}

StatusOr<ObjectPtr<Claim>> StaticView::GetClaim(const ObjectName& name) const {
  return own_ ? own_->GetClaim(name) : NoneHere<Claim>("persistentvolumeclaim", name.name);
}

StatusOr<ObjectPtr<PersistentVolume>> StaticView::GetPersistentVolume(
    const std::string& name) const {
  return own_ ? own_->GetPersistentVolume(name)
              : NoneHere<PersistentVolume>("persistentvolume", name);
}

/// The node's own services come last, so they win over the API server's.
StatusOr<std::vector<ObjectPtr<Service>>> StaticView::Services(
    const std::string& name_space) const {
  auto services = api_->Services(name_space);
  if (!services.ok()) services = std::vector<ObjectPtr<Service>>();
  if (own_ == nullptr) return services;
  auto own = own_->Services(name_space);
  if (!own.ok()) return own;
  services->insert(services->end(), own->begin(), own->end());
  return services;
}

}  // namespace splitlet::pod_worker
