#pragma once

/// D-Bus errors as Status, and the reverse for tests that answer calls.
/// Threads: pure functions, any.
/// Source:  sd_bus_error(3); org.freedesktop.systemd1(5).

#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::dbus {

/// "org.freedesktop.systemd1.NoSuchUnit: Unit x.slice not loaded." as NOT_FOUND; UNKNOWN for other
/// names.
Status StatusOf(std::string_view name, std::string_view text);

/// A name that StatusOf maps to this code.
std::string ErrorNameOf(StatusCode code);

}  // namespace splitlet::dbus
