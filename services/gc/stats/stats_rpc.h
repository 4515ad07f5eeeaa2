#pragma once

/// The gRPC service NodeStats: what this node and its containers use now.
/// Threads: handlers run on gRPC's threads; the figures are read on the strand "stats".
/// Errors:  gRPC codes; RESOURCE_EXHAUSTED when too many calls wait.

#include <memory>

#include "libs/exec/exec.h"
#include "services/gc/stats/node_stats.h"

namespace grpc {
class Service;
}

namespace splitlet::gc {

struct StatsDeps {
  exec::EventLoop& loop;
  exec::Strands& strands;
  StatsSources sources;
};
/// What `deps` names outlives the result.
std::unique_ptr<grpc::Service> MakeStatsRpc(StatsDeps deps);

}  // namespace splitlet::gc
