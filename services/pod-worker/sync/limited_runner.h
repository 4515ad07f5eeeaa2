#pragma once

/// Limits the calls that are work for the runtime, which is faster with few calls at a time: each
/// kind has an adaptive limit. Stops of containers are begun a few at a time too, so that each gets
/// its signal before its grace is over, those with the least grace first; once it has its signal, a
/// container delays no other.
/// Threads: any.
/// Errors:  those of the call, and DEADLINE_EXCEEDED or CANCELLED while waiting for a turn;
///          BeginStopContainer: ABORTED when the container got no signal.
/// Source:  docs/design.md, "Threads and time".

#include "libs/cri/cri.h"
#include "libs/cri/long_calls.h"
#include "libs/exec/limit.h"

namespace splitlet::pod_worker {

class LimitedRunner final : public cri::Runner, public cri::LongCalls {
 public:
  struct Deps {
    cri::Runner& runner;
    cri::LongCalls& long_calls;
    const Clock& clock;
    exec::EventLoop& loop;
  };
  explicit LimitedRunner(Deps deps, const exec::LimitOptions& each = {});

  /// A call that makes or starts something can be given up while it waits for its turn, and not
  /// once it has begun: its effect would be unknown.
  StatusOr<cri::SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                         const std::string& handler, Deadline deadline) override;
  Status StopPodSandbox(const cri::SandboxId& id, Deadline deadline) override;
  StatusOr<cri::ContainerId> CreateContainer(const cri::SandboxId& sandbox,
                                             const runtime::v1::ContainerConfig& config,
                                             const runtime::v1::PodSandboxConfig& sandbox_config,
                                             Deadline deadline) override;
  Status StartContainer(const cri::ContainerId& id, Deadline deadline) override;
  Status StopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                       Deadline deadline) override;

  /// The time in line is taken from the grace, down to the least that every container gets.
  void BeginStopContainer(const cri::ContainerId& id, int64_t grace_seconds, Deadline deadline,
                          Stopped done) override;
  /// The other long calls have limits of their own where they are made.
  void BeginPullImage(const cri::PullOrder& order, Deadline deadline, Pulled done) override;
  void BeginExecSync(const cri::ContainerId& id, const cri::ExecCommand& command, Deadline deadline,
                     Executed done) override;

 private:
  const Deps deps_;
  exec::AdaptiveLimit sandboxes_, creates_, starts_, sandbox_stops_, stops_;
};

}  // namespace splitlet::pod_worker
