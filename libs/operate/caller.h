#pragma once

/// Names of the caller and of a path's owners, for messages about refused access.
/// Threads: any; may ask the system's user database.
/// Errors: none; an id without a name is shown as a number.

#include <string>

#include "libs/base/status.h"

namespace splitlet::operate {

/// "user 65534 (nobody), groups 65534 (nogroup) 100 (users)".
std::string CallerText();

enum class Use { kRead, kWrite, kConnect };  // a socket is read and written

/// The first part of the path that this user may not enter, or the end if the user may not use it,
/// and its permitted users: "/run/splitlet/pleg is for user 904 (splitlet-pleg) and group 900
/// (splitlet)". The path itself if access is allowed.
std::string WhoMay(Use use, const std::string& path);

/// PERMISSION_DENIED that names `who` refuses, the caller and the reason.
Status RefusedBy(const std::string& who, const std::string& reason);
/// RefusedBy if a permission is missing; OK if access is allowed or the path does not exist.
Status CheckMay(Use use, const std::string& path, const std::string& who);

/// Advice after a refusal.
inline constexpr const char* kWhoMayAsk =
    "run as root, or as the user that splitlet.users names ctl";

}  // namespace splitlet::operate
