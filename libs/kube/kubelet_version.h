#pragma once

/// The kubelet version whose behaviour this node has, in Node objects and an API server's logs.

#include <string_view>

namespace splitlet::kube {

inline constexpr std::string_view kKubeletVersion = "v1.36.0";

}  // namespace splitlet::kube
