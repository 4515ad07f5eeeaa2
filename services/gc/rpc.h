#pragma once

/// The gRPC service Gc: a round now, dry or not, and the report of the last one.
/// Threads: handlers run on gRPC's threads and ask on the loop.
/// Errors: UNAVAILABLE when the loop does not answer.

#include <functional>
#include <memory>

#include "libs/daemon/service.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::gc {

class GcService;

/// The process: the service, its calls, those of NodeImages and of figures, and the runtime's
/// client, which outlives the service.
std::unique_ptr<daemon::Service> ServeGc(daemon::ServiceContext& context,
                                         std::unique_ptr<GcService> service,
                                         std::shared_ptr<cri::GrpcRuntime> runtime);

}  // namespace splitlet::gc
