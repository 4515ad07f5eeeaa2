#pragma once

/// The gRPC service PodWorker: every call goes to the loop and waits for the answer.
/// Threads: gRPC's.
/// Errors:  gRPC codes.
/// Source:  proto/splitlet/v1/services.proto.

#include <memory>

#include "libs/exec/exec.h"

namespace grpc {
class Service;
}

namespace splitlet::pod_worker {

/// Calls that wait for their answer at the same time; more are RESOURCE_EXHAUSTED.
inline constexpr int kMaxWaitingCalls = 16;

class PodCalls;

/// Both outlive the result.
std::unique_ptr<grpc::Service> MakeRpc(exec::EventLoop& loop, PodCalls& pods);

}  // namespace splitlet::pod_worker
