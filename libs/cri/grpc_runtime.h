#pragma once

/// A CRI runtime over gRPC: all roles of cri.h on one channel. Each call ends at the caller's
/// deadline or its method's limit, whichever comes first. Fail points: cri.<method>.before and
/// .after.
/// Threads: any; calls block, except for the long ones, which gRPC's threads answer.
/// Errors: gRPC codes, unchanged, except: a taken name is ALREADY_EXISTS even if the runtime
/// answers UNKNOWN (found by listing); stopping or removing a missing object is OK; an answer
/// without a field that CRI demands is INTERNAL.
/// Source: CRI v1; docs/libraries.md, "gRPC"; docs/behaviour/logs-and-metrics.md, "Metrics".

#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/long_calls.h"

namespace grpc {
class Channel;
}
namespace prometheus {
class Registry;
}

namespace splitlet::cri {

/// Timeouts of calls: runtimeRequestTimeout and values derived from it.
struct CallLimits {
  Duration request = std::chrono::minutes{2};
  Duration RunPodSandbox() const { return 2 * request; }
  Duration StopContainer(int64_t grace_seconds) const {
    return request + std::chrono::seconds{grace_seconds};
  }
  /// A runtime ends a stuck pull itself; this limit only prevents an endless call.
  Duration PullImage() const { return std::chrono::hours{24}; }
  Duration ExecSync(Duration timeout) const {
    return timeout > Duration{0} ? request + timeout : std::chrono::hours{24};
  }
};

class GrpcRuntime final : public Reader,
                          public Runner,
                          public Exec,
                          public Remover,
                          public Images,
                          public Logs,
                          public Stats,
                          public LongCalls {
 public:
  /// The registry gets kubelet_runtime_operations_*; one GrpcRuntime for each registry. Both
  /// outlive this object.
  GrpcRuntime(const std::shared_ptr<grpc::Channel>& channel, const Clock& clock,
              prometheus::Registry& registry, CallLimits limits);
  ~GrpcRuntime() override;
  /// From now on every call fails with CANCELLED, including running ones.
  void GiveUp();
  /// Calls GiveUp, then waits until no long call awaits an answer.
  void EndLongCalls();

  /// FAILED_PRECONDITION: the runtime has another version of CRI.
  StatusOr<RuntimeInfo> Version(Deadline deadline) override;
  StatusOr<RuntimeReport> RuntimeStatus(Deadline deadline) override;
  StatusOr<std::vector<Sandbox>> ListPodSandbox(const std::string& pod_uid,
                                                Deadline deadline) override;
  StatusOr<Sandbox> PodSandboxStatus(const SandboxId& id, Deadline deadline) override;
  StatusOr<std::vector<Container>> ListContainers(const ContainerFilter& filter,
                                                  Deadline deadline) override;
  StatusOr<Container> ContainerStatus(const ContainerId& id, Deadline deadline) override;

  StatusOr<SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                    const std::string& handler, Deadline deadline) override;
  Status StopPodSandbox(const SandboxId& id, Deadline deadline) override;
  StatusOr<ContainerId> CreateContainer(const SandboxId& sandbox,
                                        const runtime::v1::ContainerConfig& config,
                                        const runtime::v1::PodSandboxConfig& sandbox_config,
                                        Deadline deadline) override;
  Status StartContainer(const ContainerId& id, Deadline deadline) override;
  Status StopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline) override;

  StatusOr<ExecResult> ExecSync(const ContainerId& id, const ExecCommand& command,
                                Deadline deadline) override;

  Status RemovePodSandbox(const SandboxId& id, Deadline deadline) override;
  Status RemoveContainer(const ContainerId& id, Deadline deadline) override;
  Status RemoveImage(const std::string& id, Deadline deadline) override;

  StatusOr<std::vector<Image>> ListImages(Deadline deadline) override;
  StatusOr<std::optional<Image>> ImageStatus(const ImageQuery& query, Deadline deadline) override;
  StatusOr<std::string> PullImage(const std::string& image, const runtime::v1::AuthConfig* auth,
                                  const runtime::v1::PodSandboxConfig& sandbox_config,
                                  Deadline deadline) override;
  StatusOr<ImageFsReport> ImageFsInfo(Deadline deadline) override;
  /// Reads the verbose part of containerd's Status.
  StatusOr<std::string> SandboxImage(Deadline deadline) override;

  Status ReopenContainerLog(const ContainerId& id, Deadline deadline) override;

  StatusOr<std::vector<ContainerStats>> ListContainerStats(Deadline deadline) override;

  void BeginStopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline,
                          Stopped done) override;
  void BeginPullImage(const PullOrder& order, Deadline deadline, Pulled done) override;
  void BeginExecSync(const ContainerId& id, const ExecCommand& command, Deadline deadline,
                     Executed done) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace splitlet::cri
