#pragma once

/// The API objects that pods of this node reference, at one point in time: config maps, secrets,
/// services, runtime classes, persistent volumes and claims, service accounts and their tokens. The
/// implementations read them from an API server or a folder.
/// Threads: any; a source does not change.
/// Errors:  NOT_FOUND: there is no such object. UNAVAILABLE: not known yet.
/// Source:  docs/behaviour/objects.md.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace k8s::io::api::core::v1 {
class ConfigMap;
class PersistentVolume;
class PersistentVolumeClaim;
class Secret;
class Service;
class ServiceAccount;
}  // namespace k8s::io::api::core::v1
namespace k8s::io::api::node::v1 {
class RuntimeClass;
}

namespace splitlet::pod_worker {

template <class T>
using ObjectPtr = std::shared_ptr<const T>;
using ConfigMap = k8s::io::api::core::v1::ConfigMap;
using PersistentVolume = k8s::io::api::core::v1::PersistentVolume;
using Claim = k8s::io::api::core::v1::PersistentVolumeClaim;
using Secret = k8s::io::api::core::v1::Secret;
using Service = k8s::io::api::core::v1::Service;
using ServiceAccount = k8s::io::api::core::v1::ServiceAccount;
using RuntimeClass = k8s::io::api::node::v1::RuntimeClass;

struct ObjectName {
  std::string name_space, name;
  auto operator<=>(const ObjectName&) const = default;
};

/// The token of the pod's service account that a projected volume or a plugin needs.
struct TokenWish {
  std::string audience;  // empty: the API server
  int64_t seconds = 0;   // until it expires
  std::string account;   // required UID of the service account; empty: any
  auto operator<=>(const TokenWish&) const = default;
};

class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  virtual StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName& name) const = 0;
  virtual StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName& name) const = 0;
  virtual StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string& name) const = 0;
  virtual StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName& name) const = 0;
  virtual StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(
      const std::string& name) const = 0;
  /// The services of one namespace, by name.
  virtual StatusOr<std::vector<ObjectPtr<Service>>> Services(
      const std::string& name_space) const = 0;
  /// Only for pods whose images may need a token of the account.
  virtual StatusOr<ObjectPtr<ServiceAccount>> GetServiceAccount(const ObjectName&) const {
    return NotFound("this node has no service accounts");
  }
  /// A token of the pod that this source was made for.
  virtual StatusOr<std::string> GetToken(const TokenWish&) const {
    return Unimplemented("a service account token needs an API server");
  }
  /// False: the claim's volume is for one pod, and another pod of this node uses it.
  virtual bool MayUse(const ObjectName&) const { return true; }
};

}  // namespace splitlet::pod_worker
