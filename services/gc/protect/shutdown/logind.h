#pragma once

/// A ShutdownSource over systemd-logind.
/// Threads: as ShutdownSource.
/// Errors: those of the bus and of logind, by their D-Bus names (libs/dbus/errors.h).
/// Source: org.freedesktop.login1(5); org.freedesktop.systemd1(5).

#include <memory>

#include "libs/dbus/bus.h"
#include "services/gc/protect/shutdown/shutdown_source.h"

namespace splitlet::gc {

std::unique_ptr<ShutdownSource> MakeLogind(dbus::Connect connect);

}  // namespace splitlet::gc
