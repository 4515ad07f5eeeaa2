#pragma once

/// The API objects of a folder.
/// Threads: a value; the objects do not change.
/// Errors:  of ReadObjects: the reason, without any content of a secret.
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

  /// Objects already in the set win. Returns a line for each object that is ignored.
  std::vector<std::string> Add(const ObjectSet& other, const std::string& from);
  /// Binds each claim to the volume that it names, or that names the claim, as the controller of a
  /// cluster would. A volume has one claim: the first by key of those that name it. Other claims
  /// stay unbound, because the best fit may change from day to day.
  void BindClaims();
};

/// All objects of a file, which holds YAML documents or one JSON document of the kinds above. One
/// unusable object makes the whole file unusable.
StatusOr<ObjectSet> ReadObjects(std::string_view text, const std::string& path);

}  // namespace splitlet::pod_worker
