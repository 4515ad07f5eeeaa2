#pragma once

/// Makes archives of running containers, including their memory. A role of its own, since its
/// holder can make the runtime write a file anywhere.
/// Threads: any; each call blocks until its answer or its deadline.
/// Errors: gRPC codes, unchanged; UNIMPLEMENTED: the runtime makes no checkpoints.
/// Source: CRI v1.

#include <chrono>
#include <memory>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace grpc {
class Channel;
}

namespace splitlet::cri {

class Checkpointer {
 public:
  virtual ~Checkpointer() = default;
  /// Writes the archive to `location`, an absolute path; the container keeps running. The runtime
  /// may use all of `timeout`, so the deadline must be later.
  virtual Status CheckpointContainer(const ContainerId& id, const std::string& location,
                                     std::chrono::seconds timeout, Deadline deadline) = 0;
};

/// `clock` outlives the result.
std::unique_ptr<Checkpointer> MakeGrpcCheckpointer(std::shared_ptr<grpc::Channel> channel,
                                                   const Clock& clock);

}  // namespace splitlet::cri
