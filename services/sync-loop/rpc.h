#pragma once

/// The gRPC service that sync-loop serves.
/// Threads: gRPC's threads; each call waits for the loop.
/// Errors: gRPC codes.

#include <memory>

#include "libs/exec/exec.h"

namespace grpc {
class Service;
}

namespace splitlet::sync_loop {

class SyncLoopService;

/// Both arguments must outlive the returned service.
std::unique_ptr<grpc::Service> MakeSyncLoopRpc(exec::EventLoop& loop, SyncLoopService& service);

}  // namespace splitlet::sync_loop
