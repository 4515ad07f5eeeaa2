#pragma once

/// Version of the kubelet whose behaviour this node implements, for the Node object and the API
/// server's logs.

#include <string_view>

namespace splitlet::kube {

inline constexpr std::string_view kKubeletVersion = "v1.36.0";

/// "1.36.0", as on /flagz and /statusz.
inline constexpr std::string_view kKubeletVersionNumber = kKubeletVersion.substr(1);

}  // namespace splitlet::kube
