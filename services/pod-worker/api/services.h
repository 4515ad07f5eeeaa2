#pragma once

/// The gRPC services of pod-worker that other processes call, made of the calls that PodCalls
/// answers and of the runtime's clients.
/// Threads: made on the main thread; calls come on gRPC's.
/// Errors:  none.
/// Source:  docs/design.md, "The calls".

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/cri/checkpoint.h"
#include "libs/cri/cri.h"
#include "libs/cri/streaming.h"
#include "libs/exec/env.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/api/pod_calls.h"

namespace grpc {
class Service;
}

namespace splitlet::pod_worker {

struct ServiceDeps {
  exec::Env env;
  exec::Strands& runtime_strands;
  PodCalls& pods;
  cri::Reader& reader;
  cri::Exec& exec;
  cri::Streaming& streaming;
  cri::Checkpointer& checkpointer;
  fs::FileSystem& files;
  std::string checkpoints_dir;
  std::chrono::seconds least_checkpoint_timeout;
  std::shared_ptr<CancelToken> ending;
};
/// PodWorker, PodStreams and PodCheckpoints. All that `deps` refers to outlives them.
std::vector<std::unique_ptr<grpc::Service>> MakeServices(const ServiceDeps& deps);

}  // namespace splitlet::pod_worker
