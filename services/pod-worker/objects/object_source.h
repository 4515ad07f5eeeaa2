#pragma once

/// API objects that pods of this node name, as they are at one time: config maps, secrets,
/// services, runtime classes, persistent volumes and claims on them. Where they come from is behind
/// this.
/// Threads: any; an object of this kind does not change.
/// Errors:  NOT_FOUND: there is no such object. UNAVAILABLE: nobody knows yet.
/// Source:  docs/behaviour/objects.md.

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
using RuntimeClass = k8s::io::api::node::v1::RuntimeClass;

struct ObjectName {
  std::string name_space, name;
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
};

}  // namespace splitlet::pod_worker
