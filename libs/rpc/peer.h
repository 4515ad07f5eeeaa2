#pragma once

/// Identity of a connection's peer; empty if unknown. Any thread.

#include <string_view>

#include "libs/rpc/rpc.h"

namespace splitlet::rpc {

Peer PeerOfSocket(int fd);
/// `name`: gRPC's name of a connection made from a descriptor, "fd:17"; the descriptor is open
/// while a call runs on it.
Peer PeerOfName(std::string_view name);

}  // namespace splitlet::rpc
