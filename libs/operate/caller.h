#pragma once

/// Names of the caller and of a path's owners, for messages about denied access.
/// Threads: any; may ask the system's user database.
/// Errors: none; an id without a name is shown as a number.

#include <string>

#include "libs/base/status.h"

namespace splitlet::operate {

/// "user 65534 (nobody), groups 65534 (nogroup) 100 (users)".
std::string CallerText();

enum class Use {
  kRead,
  kWrite,
  kConnect
};  // connecting to a socket needs read and write
    // permission

/// Describes the first part of the path that denies access to this user, and its permitted users:
/// "/run/splitlet/pleg is for user 904 (splitlet-pleg) and group 900 (splitlet)". Returns the path
/// itself if access is allowed.
std::string WhoMay(Use use, const std::string& path);

/// PERMISSION_DENIED: names `who` denies access, the caller and the reason.
Status RefusedBy(const std::string& who, const std::string& reason);
/// RefusedBy if a permission is missing; OK if access is allowed or the path does not exist.
Status CheckMay(Use use, const std::string& path, const std::string& who);

/// Advice after a denied access.
inline constexpr const char* kWhoMayAsk =
    "run as root, or as the user that splitlet.users names ctl";

}  // namespace splitlet::operate
