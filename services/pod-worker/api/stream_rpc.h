#pragma once

/// The gRPC service PodStreams, for operators and node-api.
/// In:    calls of OpenStream and RunCommand.
/// Owns:  nothing; how many calls wait.
/// Out:   calls to the runtime, on strands of their own; a line in the log for each, with who asks.
/// Killed at any line: streams that are open go on, since they are the runtime's.
/// Threads: gRPC's; the runtime is called on strands.
/// Errors: gRPC codes; RESOURCE_EXHAUSTED when too many calls wait.
/// Source: proto/splitlet/v1/streams.proto.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/cri/cri.h"
#include "libs/cri/streaming.h"
#include "libs/exec/exec.h"

namespace grpc {
class Service;
}

namespace splitlet::pod_worker {

/// Calls that wait at the same time, of which node-api makes four, and commands that run.
inline constexpr int kMaxOpening = 6, kMaxCommands = 4;

struct StreamDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  cri::Reader& reader;
  cri::Streaming& streaming;
  cri::Exec& exec;
  std::function<bool(const std::string& uid)> has_pod;  // on the loop
  Log log;
};
/// All that `deps` refers to outlives the result.
std::unique_ptr<grpc::Service> MakeStreamRpc(StreamDeps deps);

}  // namespace splitlet::pod_worker
