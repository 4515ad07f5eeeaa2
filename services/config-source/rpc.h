#pragma once

/// The gRPC service ConfigSource: the sources with their problems, and the wanted record of one
/// pod.
/// Threads: handlers run on gRPC's threads and ask on the loop.
/// Errors: UNAVAILABLE when the loop does not answer, or a source is not complete.
/// Source: docs/design.md, "The calls".

#include <memory>

#include "libs/daemon/service.h"
#include "libs/exec/exec.h"

namespace splitlet::config_source {

class ConfigSourceService;

/// The process: the service and its calls. `service` must be made already.
std::unique_ptr<daemon::Service> ServeConfigSource(exec::EventLoop& loop,
                                                   std::unique_ptr<ConfigSourceService> service);

}  // namespace splitlet::config_source
