#pragma once

/// API objects that pods of this node name, as they are at one time: config maps, secrets,
/// services, runtime classes, persistent volumes and claims on them, service accounts and their
/// tokens.
/// Where they come from is behind this.
/// Threads: any; an object of this kind does not change.
/// Errors:  NOT_FOUND: there is no such object. UNAVAILABLE: nobody knows yet.
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

/// A token of the pod's own service account, as a projected volume asks for it.
struct TokenWish {
  std::string audience;  // empty: the API server
  int64_t seconds = 0;   // of its life
  std::string account;   // UID that the service account has to have; empty: any
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
  /// Of one namespace, by name.
  virtual StatusOr<std::vector<ObjectPtr<Service>>> Services(
      const std::string& name_space) const = 0;
  /// Only for pods whose images may come with a token of it.
  virtual StatusOr<ObjectPtr<ServiceAccount>> GetServiceAccount(const ObjectName&) const {
    return NotFound("service accounts are not known here");
  }
  /// Of the pod for which this source was made.
  virtual StatusOr<std::string> GetToken(const TokenWish&) const {
    return Unimplemented("a service account token needs an API server");
  }
  /// False: the volume of the claim is for one pod, and another one of this node has it.
  virtual bool MayUse(const ObjectName&) const { return true; }
};

}  // namespace splitlet::pod_worker
