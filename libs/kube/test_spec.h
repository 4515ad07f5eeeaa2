#pragma once

/// Specs of small pods in YAML flow style, for tests.

#include <string>

namespace splitlet::kube {

inline constexpr const char* kGoodSpec = "containers: [{name: a, image: x}]";

/// A spec with one container, which also has the fields of `more`.
inline std::string One(const std::string& more) {
  return "containers: [{name: a, image: x, " + more + "}]";
}
/// A spec with one container and the fields of `more`.
inline std::string With(const std::string& more) { return std::string(kGoodSpec) + ", " + more; }

}  // namespace splitlet::kube
