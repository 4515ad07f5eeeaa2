#pragma once

/// The family of an IP address.
/// Threads: any; pure.
/// Errors: none.

#include <string_view>

namespace splitlet::node {

/// `ip` must be an address; other text has no family.
inline bool IsIpv6(std::string_view ip) { return ip.find(':') != std::string_view::npos; }

}  // namespace splitlet::node
