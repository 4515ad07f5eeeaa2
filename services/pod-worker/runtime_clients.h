#pragma once

/// The clients of the container runtime: a connection for each kind of call.
/// Owns:    the connections; how many calls of a kind run at the same time.
/// Threads: any.
/// Errors:  the runtime's.
/// Source:  docs/design.md, "Threads and time".

#include <memory>

#include "libs/cri/checkpoint.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/network_config.h"
#include "libs/cri/streaming.h"
#include "libs/daemon/service.h"
#include "services/pod-worker/config.h"
#include "services/pod-worker/sync/limited_runner.h"

namespace splitlet::pod_worker {

struct RuntimeClients {
  RuntimeClients(daemon::ServiceContext& context, const Config& config);

  cri::GrpcRuntime runtime;
  LimitedRunner runner;
  std::unique_ptr<cri::Streaming> streaming;
  std::unique_ptr<cri::Checkpointer> checkpointer;
  std::unique_ptr<cri::NetworkConfig> network;
};

}  // namespace splitlet::pod_worker
