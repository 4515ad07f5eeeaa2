#pragma once

/// The calls that are work for the runtime, let through by limits that find themselves, one for
/// what starts and one for what ends: the runtime does few things at once quicker than many. A pod
/// that has begun to start goes before the next, so that pods run one after the other and not all
/// of them late. A stop of a container counts while the signal is brought to it, and not while it
/// takes its time to end.
/// Threads: any.
/// Errors:  those of the call, and DEADLINE_EXCEEDED or CANCELLED while waiting for a turn.
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
  /// `each`: but for the kinds of calls.
  explicit LimitedRunner(Deps deps, const exec::LimitOptions& each = {});

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

  void BeginStopContainer(const cri::ContainerId& id, int64_t grace_seconds, Deadline deadline,
                          Stopped done) override;
  /// The other long calls have limits of their own where they are made.
  void BeginPullImage(const cri::PullOrder& order, Deadline deadline, Pulled done) override;
  void BeginExecSync(const cri::ContainerId& id, const cri::ExecCommand& command, Deadline deadline,
                     Executed done) override;

 private:
  const Deps deps_;
  exec::AdaptiveLimit starts_, ends_;
};

}  // namespace splitlet::pod_worker
