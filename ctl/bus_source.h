#pragma once

/// The bus as splitletctl sees it: what flows now, what the flight recorder kept, and the recorder
/// itself. Threads: calls block. Errors: UNAVAILABLE when nats-server or the recorder is not there,
/// with what to do. Source: DESIGN.md, flight recorder.

#include <functional>
#include <string>

#include "ctl/bus_text.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct BusAccess {
  std::string url;
  std::string creds;  // file with user, then password, a line each; may be empty
  // Folder of the sockets of processes in whose network the bus is; empty: in ours. A thread that
  // went there (which takes root) stays.
  std::string network_of = {};
};

/// Returns false to stop.
using OnMessage = std::function<bool(const BusMessage&)>;

/// Until `message` returns false or `stopped` returns true (asked several times a second).
Status FollowBus(const BusAccess& access, const std::function<bool()>& stopped,
                 const OnMessage& message);

/// All that the recorder has since then, in order; ends at the last one.
Status ReadRecorder(const BusAccess& access, WallTime since, const OnMessage& message);

/// Makes the stream `flight-recorder` over splitlet.>, or brings it to its configuration. Says what
/// was done.
StatusOr<std::string> EnsureRecorder(const BusAccess& access);

/// "connected to nats-server 2.9.10"
StatusOr<std::string> CheckBus(const BusAccess& access);

}  // namespace splitlet::ctl
