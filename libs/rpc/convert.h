#pragma once

/// Shared by both sides of a call: statuses, and the socket's path.
/// Threads: pure functions, any.
/// Errors: gRPC codes, kept in both directions.

#include <string>

#include "libs/base/status.h"

namespace grpc {
class Status;
}

namespace splitlet::rpc {

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

std::string SocketPath(const std::string& run_dir, const std::string& process);

}  // namespace splitlet::rpc
