#include "services/pod-worker/api/services.h"

#include <grpcpp/impl/codegen/service_type.h>

#include "services/pod-worker/api/checkpoint_rpc.h"
#include "services/pod-worker/api/rpc.h"
#include "services/pod-worker/api/stream_rpc.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

/// A pod with no running container has neither streams nor checkpoints.
bool HasLivePod(const PodCalls& pods, const std::string& uid) {
  for (const v1::WorkerRecord& worker : pods.GetWorkers())
    if (worker.uid() == uid)
      return worker.state() == v1::SYNCING || worker.state() == v1::TERMINATING;
  return false;
}

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeServices(const ServiceDeps& deps) {
  const auto has_pod = [&pods = deps.pods](const std::string& uid) {
    return HasLivePod(pods, uid);
  };
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(MakeRpc(deps.env.loop, deps.pods));
  services.push_back(MakeStreamRpc({.clock = deps.env.clock,
                                    .loop = deps.env.loop,
                                    .strands = deps.runtime_strands,
                                    .reader = deps.reader,
                                    .streaming = deps.streaming,
                                    .exec = deps.exec,
                                    .has_pod = has_pod,
                                    .log = deps.env.log}));
  services.push_back(
      MakeCheckpointRpc({.loop = deps.env.loop,
                         .strands = deps.runtime_strands,
                         .maker = CheckpointMaker({.clock = deps.env.clock,
                                                   .reader = deps.reader,
                                                   .checkpointer = deps.checkpointer,
                                                   .files = deps.files,
                                                   .folder = deps.checkpoints_dir,
                                                   .least_timeout = deps.least_checkpoint_timeout,
                                                   .ending = deps.ending}),
                         .has_pod = has_pod}));
  return services;
}

}  // namespace splitlet::pod_worker
