#pragma once

/// Has the runtime write the archive of a running container to a file of this node.
/// Called by CheckpointCalls, which decides when.
/// Threads: any; it blocks, so on a strand.
/// Errors: NOT_FOUND for a container that is not this pod's; FAILED_PRECONDITION for one that does
/// not run; of the folder by errno; those of the runtime, unchanged.
/// Source: kubelet CheckpointContainer; docs/behaviour/node-api.md, "Checkpoints".

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/checkpoint.h"
#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"

namespace splitlet::v1 {
class CheckpointRequest;
}

namespace splitlet::pod_worker {

/// Longer an archive may not take, whatever was asked for: as long as an answer of the node's API.
inline constexpr std::chrono::seconds kLongestCheckpoint = std::chrono::hours{4};

struct CheckpointDeps {
  const Clock& clock;
  cri::Reader& reader;
  cri::Checkpointer& checkpointer;
  fs::FileSystem& files;
  std::string folder;                     // the kubelet's `checkpoints`; made when it is missing
  std::chrono::seconds least_timeout{0};  // runtimeRequestTimeout
  std::shared_ptr<CancelToken> ending;    // of the process; what is under way is given up
};

class CheckpointMaker {
 public:
  /// All that `deps` refers to outlives this.
  explicit CheckpointMaker(CheckpointDeps deps) : deps_(std::move(deps)) {}

  /// The archive's path.
  StatusOr<std::string> Make(const v1::CheckpointRequest& request);
  /// What the runtime is given for it.
  std::chrono::seconds TimeoutOf(const v1::CheckpointRequest& request) const;

 private:
  StatusOr<cri::Container> FindRunning(const v1::CheckpointRequest& request,
                                       const Deadline& deadline) const;

  const CheckpointDeps deps_;
};

/// "checkpoint-web_default-app-2026-01-02T03:04:05+01:00.tar", in the zone of this machine.
/// INVALID_ARGUMENT when the container belongs to no pod, or names a path.
StatusOr<std::string> CheckpointFileName(const cri::Container& container, WallTime at);

}  // namespace splitlet::pod_worker
