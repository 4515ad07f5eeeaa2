#pragma once

/// Messages to the supervisor that started this process, in systemd's protocol: one datagram to
/// $NOTIFY_SOCKET. Threads: any. Errors: OK when there is no such supervisor; else by errno. Never
/// blocks. Source: configuration spec, "systemd watchdog".

#include <optional>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::daemon {

/// "READY=1", "STOPPING=1", "WATCHDOG=1".
Status NotifySupervisor(std::string_view message);

/// Half of $WATCHDOG_USEC, when it is meant for this process; INVALID_ARGUMENT when that is 1 s or
/// less.
StatusOr<std::optional<Duration>> WatchdogPeriod();

}  // namespace splitlet::daemon
