#pragma once

/// Calls that may take minutes, started without waiting, so that they hold no thread.
/// Threads: any; a Begin does not wait. `done` is called once, on any thread, possibly the caller's
/// before Begin returns; it must not block.
/// Errors: those of Runner::StopContainer, Images::PullImage and Exec::ExecSync.
/// Source: docs/design.md, "Threads and time".

#include <functional>
#include <string>
#include <vector>

#include "libs/cri/cri.h"

namespace splitlet::cri {

/// The request is read before BeginPullImage returns. A null `auth` means no credentials.
struct PullOrder {
  const std::string& image;
  const runtime::v1::PodSandboxConfig& sandbox_config;
  const runtime::v1::AuthConfig* auth = nullptr;
};

class LongCalls {
 public:
  using Stopped = std::function<void(Status)>;
  using Pulled = std::function<void(StatusOr<std::string>)>;
  using Executed = std::function<void(StatusOr<ExecResult>)>;
  virtual ~LongCalls() = default;
  virtual void BeginStopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline,
                                  Stopped done) = 0;
  virtual void BeginPullImage(const PullOrder& order, Deadline deadline, Pulled done) = 0;
  virtual void BeginExecSync(const ContainerId& id, const ExecCommand& command, Deadline deadline,
                             Executed done) = 0;
};

}  // namespace splitlet::cri
