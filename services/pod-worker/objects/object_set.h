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
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string& name_space) const override;

  // By "<namespace>/<name>".
  std::map<std::string, ObjectPtr<ConfigMap>> config_maps;
  std::map<std::string, ObjectPtr<Secret>> secrets;
  std::map<std::string, ObjectPtr<Service>> services;
  std::map<std::string, ObjectPtr<RuntimeClass>> runtime_classes;  // by name

  /// Of two with one name the one that is here already stays. A line for each that is not taken.
  std::vector<std::string> Add(const ObjectSet& other, const std::string& from);
};

/// All objects of a file: documents of YAML or one of JSON, of the kinds above. All or nothing: a
/// file with one that cannot be used is not used.
StatusOr<ObjectSet> ReadObjects(std::string_view text, const std::string& path);

}  // namespace splitlet::pod_worker
