#pragma once

/// Errors of D-Bus as ours, and back for what answers calls in tests.
/// Threads: pure functions, any.
/// Source:  sd_bus_error(3); org.freedesktop.systemd1(5).

#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::dbus {

/// "org.freedesktop.systemd1.NoSuchUnit: Unit x.slice not loaded." as NOT_FOUND; a name that is not
/// known is UNKNOWN.
Status StatusOf(std::string_view name, std::string_view text);

/// The name that comes back as this code.
std::string ErrorNameOf(StatusCode code);

}  // namespace splitlet::dbus
