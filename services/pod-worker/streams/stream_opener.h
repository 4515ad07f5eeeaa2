#pragma once

/// Opens a stream into a pod of this node: into one of its containers that run, or to its ports.
/// Called by the gRPC face of streams (stream_rpc.h).
/// Threads: any; it blocks, so on a strand.
/// Errors: INVALID_ARGUMENT for a request that makes no sense; NOT_FOUND for a container that is
/// not this pod's; FAILED_PRECONDITION for one that does not run; those of the runtime.
/// Source: CRI v1.

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/streaming.h"

namespace splitlet::v1 {
class OpenStreamRequest;
}

namespace splitlet::pod_worker {

/// Before the runtime is asked anything.
Status CheckStreamRequest(const v1::OpenStreamRequest& request);

class StreamOpener {
 public:
  /// Both outlive this.
  StreamOpener(cri::Reader& reader, cri::Streaming& streaming)
      : reader_(reader), streaming_(streaming) {}

  /// The URL of the runtime's streaming server.
  StatusOr<std::string> Open(const v1::OpenStreamRequest& request, const Deadline& deadline);

 private:
  StatusOr<std::string> OpenPorts(const v1::OpenStreamRequest& request, const Deadline& deadline);
  Status CheckRuns(const v1::OpenStreamRequest& request, const Deadline& deadline);

  cri::Reader& reader_;
  cri::Streaming& streaming_;
};

}  // namespace splitlet::pod_worker
