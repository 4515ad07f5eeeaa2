#pragma once

/// The gRPC service NodeStats: what this node, its pods and containers use now.
/// Threads: handlers run on gRPC's threads and ask on the loop.
/// Errors:  gRPC codes; RESOURCE_EXHAUSTED when too many calls wait.

#include <memory>

#include "libs/exec/exec.h"
#include "services/gc/measure/stats/stats_reader.h"

namespace grpc {
class Service;
}

namespace splitlet::gc {

/// Called on the loop. `details`: see NodeStatsRequest.
using AskStats = std::function<void(bool details, StatsReader::Done done)>;
/// The loop and everything that `ask` refers to must outlive the result.
std::unique_ptr<grpc::Service> MakeStatsRpc(exec::EventLoop& loop, AskStats ask);

}  // namespace splitlet::gc
