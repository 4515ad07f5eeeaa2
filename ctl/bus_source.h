#pragma once

/// The bus as splitletctl sees it: what flows now, and how that is recorded. Threads: calls block.
/// Errors: UNAVAILABLE when nats-server is not there, with what to do.

#include <functional>
#include <ostream>
#include <string>

#include "ctl/flight_recorder.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

struct BusAccess {
  std::string url;
  std::string creds;  // file with user, then password, a line each; may be empty
  std::string ca;     // who signs the bus's certificate; empty: no TLS, on loopback only
  // Folder of the sockets of processes in whose network the bus is; empty: in ours. A thread that
  // went there (which takes root) stays.
  std::string network_of = {};
};

/// Until `message` returns false or `stopped` returns true (asked several times a second).
Status FollowBus(const BusAccess& access, const std::function<bool()>& stopped,
                 const OnMessage& message);

/// A plain subscriber: writes what flows into `files` until told to stop, through every absence of
/// the bus, and a line into `log` when something changes. The bus never waits for it.
void RecordBus(const BusAccess& access, RecorderFiles& files, const std::function<bool()>& stopped,
               std::ostream& log);

/// "connected to nats-server 2.9.10"
StatusOr<std::string> CheckBus(const BusAccess& access);

}  // namespace splitlet::ctl
