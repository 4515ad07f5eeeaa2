#pragma once

/// A container runtime in memory for tests and the simulation: sandboxes, attempts, containers,
/// images, reserved names and exits are real state; containers end by the clock. It offers faults
/// by method and pod, programmed containers, unmanaged pods, and late, lost or duplicate events.
/// Threads: any. A call that takes time (grace, delay, hang, pull) waits through the Waiter.
/// Without a Waiter each wait ends immediately, and a hang ends in DEADLINE_EXCEEDED.
/// Errors: containerd's, after the client's translation (cri.h).
/// Source: CRI v1; docs/design.md, "Simulation".

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/fake_controls.h"

namespace splitlet::cri {

class FakeRuntime final : public FakeControls,
                          public Reader,
                          public Runner,
                          public Exec,
                          public Remover,
                          public Images,
                          public Logs,
                          public Stats,
                          public EventStream {
 public:
  explicit FakeRuntime(const Clock& clock);
  FakeRuntime(const Clock& clock, Options options);
  ~FakeRuntime() override;

  // Reader.
  StatusOr<RuntimeInfo> Version(Deadline deadline) override;
  StatusOr<RuntimeReport> RuntimeStatus(Deadline deadline) override;
  StatusOr<std::vector<Sandbox>> ListPodSandbox(const std::string& pod_uid,
                                                Deadline deadline) override;
  StatusOr<Sandbox> PodSandboxStatus(const SandboxId& id, Deadline deadline) override;
  StatusOr<std::vector<Container>> ListContainers(const ContainerFilter& filter,
                                                  Deadline deadline) override;
  StatusOr<Container> ContainerStatus(const ContainerId& id, Deadline deadline) override;
  // Runner.
  StatusOr<SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                    const std::string& handler, Deadline deadline) override;
  Status StopPodSandbox(const SandboxId& id, Deadline deadline) override;
  StatusOr<ContainerId> CreateContainer(const SandboxId& sandbox,
                                        const runtime::v1::ContainerConfig& config,
                                        const runtime::v1::PodSandboxConfig& sandbox_config,
                                        Deadline deadline) override;
  Status StartContainer(const ContainerId& id, Deadline deadline) override;
  Status StopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline) override;
  // Exec.
  StatusOr<ExecResult> ExecSync(const ContainerId& id, const ExecCommand& command,
                                Deadline deadline) override;
  // Remover.
  Status RemovePodSandbox(const SandboxId& id, Deadline deadline) override;
  Status RemoveContainer(const ContainerId& id, Deadline deadline) override;
  Status RemoveImage(const std::string& id, Deadline deadline) override;
  // Images.
  StatusOr<std::vector<Image>> ListImages(Deadline deadline) override;
  StatusOr<std::optional<Image>> ImageStatus(const ImageQuery& query, Deadline deadline) override;
  StatusOr<std::string> PullImage(const std::string& image, const runtime::v1::AuthConfig* auth,
                                  const runtime::v1::PodSandboxConfig& sandbox_config,
                                  Deadline deadline) override;
  StatusOr<ImageFsReport> ImageFsInfo(Deadline deadline) override;
  StatusOr<std::string> SandboxImage(Deadline deadline) override;
  // Logs: `append_file` makes a new file, if set.
  Status ReopenContainerLog(const ContainerId& id, Deadline deadline) override;
  // Stats.
  StatusOr<std::vector<ContainerStats>> ListContainerStats(Deadline deadline) override;
  // EventStream: blocks through the waiter; UNIMPLEMENTED without a waiter, or if events are off.
  // See Subscribe.
  Status Follow(Deadline deadline, const std::function<void()>& on_open,
                const std::function<void(const ContainerEvent&)>& on_event) override;

  /// Events without a thread: `on_event` runs on the thread of the call that caused it, or of
  /// Tick(); `on_end` when the stream breaks. UNIMPLEMENTED: events are off; UNAVAILABLE: the
  /// runtime is down.
  StatusOr<int> Subscribe(Subscriber subscriber);
  void Unsubscribe(int id);

  /// State that survives a restart of a runtime, for a server's state file.
  std::string Save() const;
  Status Restore(const std::string& saved);

 private:
  struct Call {
    std::string method, pod_uid;
    Deadline deadline;
    const Sandbox* sandbox = nullptr;  // the sandbox to be made
  };
  template <class R, class F>
  R Serve(const Call& call, F effect);
  struct Admission {
    Status refused;  // answer of a refused call, which has no effect
    Status lost;     // answer in place of the true one, after the effect
  };
  Admission Admit(const Call& call);
  Status Hang(const Call& call, int fault);
  Status Wait(const Deadline& deadline, Clock::Time until, const std::function<bool()>& done);
  Status WaitForExit(const ContainerId& id, const Deadline& deadline);
  std::string UidOf(const ContainerId& id) const;
  std::string UidOf(const SandboxId& id) const;
};

}  // namespace splitlet::cri
