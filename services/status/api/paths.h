#pragma once

/// Where the objects that status writes stand at the API server.
/// Threads: any.
/// Errors:  none.

#include <string>

#include "libs/base/clock.h"

namespace splitlet::status {

/// Deadline of one request about a pod.
inline constexpr Duration kCallTimeout = std::chrono::seconds{10};

inline constexpr const char* kNodesPath = "/api/v1/nodes";
/// "/api/v1/nodes/n1".
std::string NodePath(const std::string& name);

/// A pod object: `uid` distinguishes it from earlier and later objects of its name.
struct PodObject {
  std::string name_space, name, uid;
  bool operator==(const PodObject&) const = default;
};
/// "/api/v1/namespaces/default/pods".
std::string PodsPath(const std::string& name_space);
/// "/api/v1/namespaces/default/pods/web".
std::string PathOf(const PodObject& object);

}  // namespace splitlet::status
