#pragma once

/// The gRPC service PodCheckpoints, for node-api.
/// In:    calls of Checkpoint.
/// Owns:  what CheckpointCalls owns.
/// Killed at any line: as CheckpointCalls.
/// Threads: gRPC's, which wait for the loop.
/// Errors: gRPC codes.
/// Source: proto/splitlet/v1/checkpoints.proto.

#include <memory>

#include "services/pod-worker/api/checkpoint_calls.h"

namespace grpc {
class Service;
}

namespace splitlet::pod_worker {

/// All that `deps` refers to outlives the result.
std::unique_ptr<grpc::Service> MakeCheckpointRpc(CheckpointCalls::Deps deps);

}  // namespace splitlet::pod_worker
