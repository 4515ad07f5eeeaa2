#pragma once

/// The version of the kubelet whose behaviour this node has.

#include <string_view>

namespace splitlet::kube {

/// As a Node object and the logs of an API server write it.
inline constexpr std::string_view kKubeletVersion = "v1.36.0";
/// "1.36.0", as /flagz and /statusz write it.
inline constexpr std::string_view kKubeletVersionNumber = kKubeletVersion.substr(1);

}  // namespace splitlet::kube
