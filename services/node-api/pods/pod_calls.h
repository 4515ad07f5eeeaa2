#pragma once

/// What node-api has pod-worker do: streams, commands and checkpoints of containers.
/// Threads: strands; calls block up to their deadline.
/// Errors: gRPC codes.
/// Source: docs/design.md, "The calls".

#include <memory>
#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/https/server.h"

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

/// Header of a request, and what its calls carry.
inline constexpr const char* kTraceparent = "traceparent";

struct CallOptions {
  Deadline deadline;
  std::string traceparent;  // of the request that it is for; may be empty
};

/// Of the header; empty for what is none, so that no byte of a client's gets into other calls.
std::string TraceparentOf(const https::Request& request);
/// In the trace of `request`.
inline CallOptions OptionsFor(const https::Request& request, Deadline deadline) {
  return {.deadline = std::move(deadline), .traceparent = TraceparentOf(request)};
}

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
