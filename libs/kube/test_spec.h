#pragma once

/// Specs of small pods in YAML flow style, for tests.

#include <string>

namespace splitlet::kube {

inline constexpr const char* kGoodSpec = "containers: [{name: a, image: x}]";

/// Its one container says `more`.
inline std::string One(const std::string& more) {
  return "containers: [{name: a, image: x, " + more + "}]";
}
/// The spec says `more` beside its container.
inline std::string With(const std::string& more) { return std::string(kGoodSpec) + ", " + more; }

}  // namespace splitlet::kube
