#pragma once

/// Archives of containers that run, with their memory. A role of its own, since who has it can have
/// the runtime write a file anywhere.
/// Threads: any; each call blocks until its answer or its deadline.
/// Errors: gRPC codes, unchanged; UNIMPLEMENTED: the runtime makes none.
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
  /// Writes the archive to `location`, an absolute path; the container runs on. The runtime may
  /// take `timeout`, for which the deadline must leave room.
  virtual Status CheckpointContainer(const ContainerId& id, const std::string& location,
                                     std::chrono::seconds timeout, Deadline deadline) = 0;
};

/// `clock` outlives the result.
std::unique_ptr<Checkpointer> MakeGrpcCheckpointer(std::shared_ptr<grpc::Channel> channel,
                                                   const Clock& clock);

}  // namespace splitlet::cri
