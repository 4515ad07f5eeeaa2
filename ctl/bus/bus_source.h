#pragma once

/// The bus as splitletctl uses it: follow its messages, and record them.
/// Threads: calls block.
/// Errors: UNAVAILABLE when nats-server is not there, with what to do.

#include <functional>
#include <ostream>
#include <string>

#include "libs/base/status.h"
#include "libs/operate/flight_recorder.h"
#include "libs/operate/layout.h"

namespace splitlet::ctl {

/// Takes the calling thread, for good, to the network of whichever process of the stack runs; this
/// takes root. FAILED_PRECONDITION when none does.
Status JoinNetwork(const std::string& run_dir);

/// Until `message` returns false or `stopped` returns true (asked several times a second).
Status FollowBus(const operate::BusAccess& access, const std::function<bool()>& stopped,
                 const operate::OnMessage& message);

/// A plain subscriber: writes what flows into `files` until `stopped`, through every absence of
/// the bus, and a line into `log` when something changes. The bus never waits for it.
void RecordBus(const operate::BusAccess& access, operate::RecorderFiles& files,
               const std::function<bool()>& stopped, std::ostream& log);

/// "connected to nats-server 2.9.10"
StatusOr<std::string> CheckBus(const operate::BusAccess& access);

}  // namespace splitlet::ctl
