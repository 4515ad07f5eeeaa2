#pragma once

/// The gRPC service Gc: runs a round now, dry or not, and returns the report of the last rounds.
/// Threads: handlers run on gRPC's threads and ask on the loop.
/// Errors: UNAVAILABLE when the loop does not answer in time.

#include <functional>
#include <memory>

#include "libs/daemon/service.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::gc {

class GcService;

/// Makes the process: the service, the gRPC services Gc, NodeImages and NodeStats, and the
/// runtime's client, which outlives the service.
std::unique_ptr<daemon::Service> ServeGc(daemon::ServiceContext& context,
                                         std::unique_ptr<GcService> service,
                                         std::shared_ptr<cri::GrpcRuntime> runtime);

}  // namespace splitlet::gc
