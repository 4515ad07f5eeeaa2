#pragma once

/// Streaming of a CRI runtime over gRPC.
/// Threads: any; calls block.
/// Errors: see streaming.h.
/// Source: CRI v1.

#include <memory>

#include "libs/cri/streaming.h"

namespace grpc {
class Channel;
}

namespace splitlet::cri {

/// `clock` outlives the result.
std::unique_ptr<Streaming> MakeGrpcStreaming(const std::shared_ptr<grpc::Channel>& channel,
                                             const Clock& clock);

}  // namespace splitlet::cri
