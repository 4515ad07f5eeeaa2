#pragma once

/// The objects of a folder as they were read together.
/// Threads: a value; what it points to does not change.
/// Errors:  of ReadObjects: what cannot be used, without anything that a secret holds.
/// Source:  docs/behaviour/objects.md, "The folder".

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

class ObjectSet final : public ObjectSource {
 public:
  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName& name) const override;
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName& name) const override;
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string& name) const override;
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName& name) const override;
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string& name) const override;
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string& name_space) const override;

  // By "<namespace>/<name>".
  std::map<std::string, ObjectPtr<ConfigMap>> config_maps;
  std::map<std::string, ObjectPtr<Secret>> secrets;
  std::map<std::string, ObjectPtr<Service>> services;
  std::map<std::string, ObjectPtr<Claim>> claims;
  // By name.
  std::map<std::string, ObjectPtr<RuntimeClass>> runtime_classes;
  std::map<std::string, ObjectPtr<PersistentVolume>> persistent_volumes;

  /// Of two with one name the one that is here already stays. A line for each that is not taken.
  std::vector<std::string> Add(const ObjectSet& other, const std::string& from);
  /// Binds each claim to the volume that it names, or that names it, as the controller of a cluster
  /// would. A volume has one claim: of two that name it the first by key. A claim of which neither
  /// is said stays unbound: what fits it best today may not be what fits it best tomorrow.
  void BindClaims();
};

/// All objects of a file: documents of YAML or one of JSON, of the kinds above. All or nothing: a
/// file with one that cannot be used is not used.
StatusOr<ObjectSet> ReadObjects(std::string_view text, const std::string& path);

}  // namespace splitlet::pod_worker
