#pragma once

/// The gRPC service Pleg: a pod inspected now, a listing now, health.
/// Threads: handlers run on gRPC's threads and ask on the loop.
/// Errors: UNAVAILABLE when the loop does not answer, or when the pod cannot be inspected. An
/// absent pod is no error.
/// Source: docs/design.md, "The calls".

#include <memory>

#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::pleg {

class PlegService;

/// The process: the service, its calls, and the runtime's client, which outlives the service.
std::unique_ptr<daemon::Service> ServePleg(exec::EventLoop& loop,
                                           std::unique_ptr<cri::GrpcRuntime> reader,
                                           std::unique_ptr<PlegService> service);

}  // namespace splitlet::pleg
