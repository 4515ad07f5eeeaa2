#pragma once

/// Calls to pod-worker: streams, commands and checkpoints of containers.
/// Threads: strands; calls block up to their deadline.
/// Errors: gRPC codes.
/// Source: docs/design.md, "The calls".

#include <memory>
#include <string>

#include "libs/base/status.h"
#include "services/node-api/http/call_options.h"

namespace grpc {
class Channel;
}
namespace splitlet::v1 {
class CheckpointReply;
class CheckpointRequest;
class OpenStreamRequest;
class RunCommandReply;
class RunCommandRequest;
}  // namespace splitlet::v1

namespace splitlet::node_api {

class PodCalls {
 public:
  virtual ~PodCalls() = default;
  /// The URL of the runtime's streaming server.
  virtual StatusOr<std::string> OpenStream(const v1::OpenStreamRequest& request,
                                           const CallOptions& options) = 0;
  virtual StatusOr<v1::RunCommandReply> RunCommand(const v1::RunCommandRequest& request,
                                                   const CallOptions& options) = 0;
  virtual StatusOr<v1::CheckpointReply> Checkpoint(const v1::CheckpointRequest& request,
                                                   const CallOptions& options) = 0;
};
std::unique_ptr<PodCalls> MakePodCalls(const Clock& clock, std::shared_ptr<grpc::Channel> channel);

}  // namespace splitlet::node_api
