#pragma once

/// The gRPC service Status.
/// Threads: handlers run on gRPC's threads and call the service on the loop.
/// Errors: UNAVAILABLE when the loop does not answer.
/// Source: docs/design.md, "The calls"; docs/safety.md, rule 24.

#include <memory>
#include <string>

#include "libs/daemon/service.h"
#include "libs/exec/exec.h"

namespace splitlet::status {

class StatusService;

/// The process: the service with its gRPC calls.
std::unique_ptr<daemon::Service> ServeStatus(exec::EventLoop& loop,
                                             std::unique_ptr<StatusService> service);

}  // namespace splitlet::status
