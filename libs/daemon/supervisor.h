#pragma once

/// Messages to the supervisor of this process: systemd's datagrams to $NOTIFY_SOCKET.
/// Threads: any; never blocks. OK without such a supervisor, else by errno.
/// Source: docs/behaviour/configuration.md, "Supervisor".

#include <optional>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::daemon {

/// "READY=1", "STOPPING=1", "WATCHDOG=1".
Status NotifySupervisor(std::string_view message);

/// Half of $WATCHDOG_USEC if it is meant for this process; INVALID_ARGUMENT if that is 1 s or less.
StatusOr<std::optional<Duration>> WatchdogPeriod();

}  // namespace splitlet::daemon
