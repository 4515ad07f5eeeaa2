#pragma once

/// The subject of a certificate or request.
/// Threads: a value.

#include <string>
#include <vector>

namespace splitlet::x509 {

struct Names {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns;
  std::vector<std::string> addresses;  // IPv4 or IPv6, as inet_ntop prints them
  bool operator==(const Names&) const = default;
};

}  // namespace splitlet::x509
