#pragma once

/// Identity of a connection's peer; empty if unknown. Any thread.

#include <string_view>

#include "libs/rpc/rpc.h"

namespace splitlet::rpc {

Peer PeerOfSocket(int fd);
/// `name`: as gRPC calls a connection that it was given by its descriptor, "fd:17"; it is open
/// while a call of it runs.
Peer PeerOfName(std::string_view name);

}  // namespace splitlet::rpc
