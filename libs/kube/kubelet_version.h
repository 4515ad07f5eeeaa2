#pragma once

/// The kubelet whose behaviour this node has, as a Node object and an API server's logs name it.

#include <string_view>

namespace splitlet::kube {

inline constexpr std::string_view kKubeletVersion = "v1.36.0";

/// "1.36.0", as /flagz and /statusz write it.
inline constexpr std::string_view kKubeletVersionNumber = kKubeletVersion.substr(1);

}  // namespace splitlet::kube
