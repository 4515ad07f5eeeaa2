#pragma once

/// Opens a stream into a pod of this node: into one of its containers that run, or to its ports; or
/// runs a command there to its end. Called by the gRPC service of streams (stream_rpc.h).
/// Threads: any; it blocks, so on a strand.
/// Errors: INVALID_ARGUMENT for a request that makes no sense; NOT_FOUND for a container that is
///         not this pod's; FAILED_PRECONDITION for one that does not run; those of the runtime.
/// Source: CRI v1.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/streaming.h"

namespace splitlet::v1 {
class OpenStreamRequest;
class RunCommandReply;
class RunCommandRequest;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// Before the runtime is asked anything.
Status CheckStreamRequest(const v1::OpenStreamRequest& request);

class StreamOpener {
 public:
  /// All outlive this.
  StreamOpener(cri::Reader& reader, cri::Streaming& streaming, cri::Exec& exec)
      : reader_(reader), streaming_(streaming), exec_(exec) {}

  /// The URL of the runtime's streaming server.
  StatusOr<std::string> Open(const v1::OpenStreamRequest& request, const Deadline& deadline);
  /// To the command's end, or the deadline's.
  StatusOr<v1::RunCommandReply> Run(const v1::RunCommandRequest& request, const Deadline& deadline);

 private:
  StatusOr<std::string> OpenPorts(const v1::OpenStreamRequest& request, const Deadline& deadline);
  Status CheckRuns(const std::string& uid, const std::string& container_id,
                   const Deadline& deadline);

  cri::Reader& reader_;
  cri::Streaming& streaming_;
  cri::Exec& exec_;
};

}  // namespace splitlet::pod_worker
