#pragma once

/// gRPC of sync-loop: the service it serves, and its client of pod-worker.
/// Threads: gRPC's; calls go to the loop and wait there. Errors: gRPC codes.

#include <memory>

#include "libs/exec/exec.h"
#include "services/sync-loop/pod_worker_client.h"

namespace grpc {
class Channel;
class Service;
}  // namespace grpc

namespace splitlet::sync_loop {

class SyncLoopService;

/// Both arguments outlive it.
std::unique_ptr<grpc::Service> MakeSyncLoopRpc(exec::EventLoop& loop, SyncLoopService& service);

std::unique_ptr<WorkerClient> MakeWorkerClient(const Clock& clock,
                                               const std::shared_ptr<grpc::Channel>& channel);

}  // namespace splitlet::sync_loop
