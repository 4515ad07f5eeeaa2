#pragma once

/// The API server's objects that one pod sees, at one point in time.
/// Threads: values, any.
/// Errors:  those of ObjectSource.
/// Source:  docs/behaviour/objects.md, "From an API server".

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/pod-worker/api_objects/claim_lookups.h"
#include "services/pod-worker/api_objects/tokens.h"
#include "services/pod-worker/api_objects/watched_collection.h"

namespace splitlet::pod_worker {

/// For a pod of the API server.
class ApiView final : public ObjectSource {
 public:
  using Known = std::map<std::string, StatusOr<apiclient::Reflector::Object>>;  // by name
  struct Content {
    Known config_maps, secrets, accounts;  // of the pod's namespace
    std::map<std::string, ClaimLookups::Found> claims;
    PodTokens::Values tokens;
    std::shared_ptr<const WatchedCollection::Objects> services, runtime_classes;  // null: unknown
    Status runtime_classes_trouble;
  };
  explicit ApiView(Content content) : content_(std::move(content)) {}

  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName& name) const override;
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName& name) const override;
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string& name) const override;
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName& name) const override;
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string& name) const override;
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string& name_space) const override;
  StatusOr<ObjectPtr<ServiceAccount>> GetServiceAccount(const ObjectName& name) const override;
  StatusOr<std::string> GetToken(const TokenWish& wish) const override;
  bool MayUse(const ObjectName& claim) const override;

 private:
  const Content content_;
};

/// For a static pod of a node with an API server. Only a missing runtime class makes it wait.
class StaticView final : public ObjectSource {
 public:
  /// `own`: the node's folder; may be null. `api`: the source of services and runtime classes.
  StaticView(std::shared_ptr<const ObjectSource> own, std::shared_ptr<const ObjectSource> api)
      : own_(std::move(own)), api_(std::move(api)) {}

  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName& name) const override;
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName& name) const override;
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string& name) const override;
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName& name) const override;
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string& name) const override;
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string& name_space) const override;

 private:
  const std::shared_ptr<const ObjectSource> own_, api_;
};

}  // namespace splitlet::pod_worker
