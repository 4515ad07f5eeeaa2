#pragma once

/// Checks of parts of a pod; see validation.h. Each adds its violations to `errors`.

#include <map>
#include <set>
#include <string>

#include "libs/kube/pod_types.h"
#include "libs/kube/validation.h"

namespace splitlet::kube {

/// Joins "spec" and "name" to "spec.name".
inline std::string Field(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}
inline std::string At(const std::string& path, int index) {
  return path + "[" + std::to_string(index) + "]";
}
inline std::string AtKey(const std::string& path, std::string_view key) {
  return path + "[" + std::string(key) + "]";
}

/// Properties of the whole pod, for the checks of a part.
struct ValidationContext {
  const Pod& pod;
  std::map<std::string, bool> volumes;  // name -> whether the volume is an emptyDir
  std::set<std::string> claims;         // names of resource claims
};

}  // namespace splitlet::kube
