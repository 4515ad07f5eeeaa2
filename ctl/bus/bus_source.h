#pragma once

/// The bus as splitletctl uses it: follows its messages and records them.
/// Threads: calls block.
/// Errors: UNAVAILABLE when nats-server is absent, with advice.

#include <functional>
#include <ostream>
#include <string>

#include "libs/base/status.h"
#include "libs/operate/flight_recorder.h"
#include "libs/operate/layout.h"

namespace splitlet::ctl {

/// Moves the calling thread, for good, into the network namespace of a running process of the
/// stack; needs root. FAILED_PRECONDITION when no process runs.
Status JoinNetwork(const std::string& run_dir);

/// Until `message` returns false or `stopped` returns true (asked several times a second).
Status FollowBus(const operate::BusAccess& access, const std::function<bool()>& stopped,
                 const operate::OnMessage& message);

/// A plain subscriber: records all messages into `files` until `stopped`, across every absence of
/// the bus, and logs changes into `log`. The bus never waits for it.
void RecordBus(const operate::BusAccess& access, operate::RecorderFiles& files,
               const std::function<bool()>& stopped, std::ostream& log);

/// "connected to nats-server 2.9.10"
StatusOr<std::string> CheckBus(const operate::BusAccess& access);

}  // namespace splitlet::ctl
