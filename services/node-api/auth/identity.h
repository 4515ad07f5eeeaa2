#pragma once

/// The user of a request.
/// Threads: values; nothing fails.

#include <map>
#include <string>
#include <vector>

namespace splitlet::node_api {

struct User {
  std::string name, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

inline constexpr const char* kAnonymous = "system:anonymous";
inline constexpr const char* kAuthenticatedGroup = "system:authenticated";
inline constexpr const char* kUnauthenticatedGroup = "system:unauthenticated";

}  // namespace splitlet::node_api
