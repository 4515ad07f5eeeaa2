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

namespace splitlet::cri {

/// Lets time pass during a call.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// Returns after `max`, or when `done` holds. The fake's lock is not held.
  virtual void WaitFor(Duration max, const std::function<bool()>& done) = 0;
};
/// Moves the fake clock forward, for single-threaded tests.
std::unique_ptr<Waiter> MakeAdvancingWaiter(FakeClock& clock);
/// Waits on the machine's clock, for a server on RealClock.
std::unique_ptr<Waiter> MakeRealWaiter();

/// Behaviour of a container before and after its start.
struct ContainerBehaviour {
  std::optional<Duration> exit_after;  // unset: runs until stopped
  int32_t exit_code = 0;
  std::string reason;                                // empty: "Completed" for 0, else "Error"
  std::string message;                               // in the runtime's report
  std::string termination_message;                   // message in the runtime's report
  std::optional<Duration> term_after = Duration{0};  // from TERM to its exit; unset: ignores TERM
  int32_t term_code = 143;
  Status create_error, start_error;
};

struct Fault {
  enum class Kind {
    kFail,          // answers `code`, no effect
    kDelay,         // takes longer by `delay`
    kHang,          // blocks until the fault is removed, or the deadline
    kLoseResponse,  // takes effect, but answers `code`
  };
  std::string method;  // "RunPodSandbox"; empty: every method
  /// UID, name, or name without "-<node>" of a pod; empty: every pod, and calls about no pod.
  std::string pod;
  Kind kind = Kind::kFail;
  StatusCode code = StatusCode::kUnavailable;
  std::string message = "injected";
  Duration delay{0};
  int times = -1;  // number of calls that it affects; negative: until the fault is removed
};

struct PullBehaviour {
  Status error;
  Duration takes{0};
  uint64_t size_bytes = 1 << 20;
  std::string login = {};  // "user:password" for the registry; empty: no login
};

/// A pod made by another program.
struct UnmanagedPod {
  std::string uid, name, name_space = "default";
  std::vector<std::string> containers;
  StringMap annotations;
};

class FakeRuntime final : public Reader,
                          public Runner,
                          public Exec,
                          public Remover,
                          public Images,
                          public Logs,
                          public Stats,
                          public EventStream {
 public:
  struct Options {
    RuntimeInfo info{"containerd", "1.6.20~fake", "v1"};
    Waiter* waiter = nullptr;  // outlives the runtime
    /// Called before each call; its error becomes the answer, as for a dead process in the
    /// simulation.
    std::function<Status(std::string_view method, const std::string& pod_uid)> intercept;
    /// Writes termination messages and log lines, if set.
    std::function<void(const std::string& path, const std::string& content)> append_file;
  };
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
  struct Subscriber {
    std::function<void(const ContainerEvent&)> on_event;
    std::function<void(const Status&)> on_end;
  };
  StatusOr<int> Subscribe(Subscriber subscriber);
  void Unsubscribe(int id);

  // Programs containers, by UID or name of the pod. Empty matches all; the more specific entry
  // wins. The n-th start of a container takes the n-th behaviour, and the last one repeats.
  void SetBehaviour(const std::string& pod, const std::string& container,
                    std::vector<ContainerBehaviour> behaviours);
  void SetExec(const std::string& pod_uid, const std::string& container,
               StatusOr<ExecResult> result);
  void SetPull(const std::string& image, PullBehaviour behaviour);
  void AddImage(const std::string& image, uint64_t size_bytes = 1 << 20);
  void SetImageFs(FsUsage usage);
  /// From now on containers write to another file system than that of images.
  void SetContainerFs(FsUsage usage);
  /// Sets the answer of SandboxImage; initially "registry.k8s.io/pause:3.9". The image need not
  /// exist in the store.
  void SetSandboxImage(const std::string& image);
  void PinImage(const std::string& image);
  void SetStats(const ContainerId& id, ContainerStats stats);

  // Faults.
  int AddFault(Fault fault);
  void RemoveFault(int id);  ///< releases what hangs in it
  void ClearFaults();
  size_t Hanging() const;   ///< calls that hang now
  void SetDown(bool down);  ///< every call is UNAVAILABLE, streams end
  void SetConditions(std::vector<RuntimeCondition> conditions);
  /// Sets the status except the conditions; a new fake has no handlers and no features.
  void SetFeatures(RuntimeReport features);

  // Events.
  void SetEvents(bool available);  ///< off: UNIMPLEMENTED, streams end
  void DropEvents(int count);      ///< the next ones are lost
  void DoubleEvents(int count);    ///< the next ones come twice
  void SetExitLag(Duration lag);   ///< an exit's event comes that much before calls show the exit
  void EndStreams(const Status& status);
  size_t Streams() const;  ///< that are followed now

  // Changes outside the agent. The newest running container of that name exits now. NOT_FOUND if
  // there is none.
  Status ExitContainer(const std::string& pod, const std::string& name, int32_t code,
                       const std::string& reason = {});
  Status ExitContainer(const ContainerId& id, int32_t code, const std::string& reason = {});
  void BreakSandbox(
      const std::string& pod_uid);  ///< its ready sandboxes are not, their containers are killed
  Status SetUnknown(const ContainerId& id);  ///< state UNKNOWN from now on
  /// Sets an exit reason that the runtime learns later; no event reports it.
  Status SetReason(const ContainerId& id, const std::string& reason);
  void SetIps(const SandboxId& id, std::vector<std::string> ips);
  void AddUnmanagedPod(const UnmanagedPod& pod);
  void Reboot();  ///< nothing runs any more, records stay
  /// As if another program removed the newest container of that name, running or not. NOT_FOUND if
  /// there is none.
  Status Vanish(const std::string& pod, const std::string& name);
  void Wipe();  ///< its store is lost: no sandboxes and no containers any more
  /// Applies events that are due by the clock; each call does so first. For a simulation without
  /// calls.
  void Tick();
  /// Number of exits since the start, to notice changes without a call.
  uint64_t Exits() const;
  /// Time of the next exit; nullopt if none is scheduled.
  std::optional<Clock::Time> NextDue() const;

  // The true state, without faults or delays.
  std::vector<Sandbox> Sandboxes() const;
  std::optional<Sandbox> NewestSandbox(const std::string& pod_uid) const;
  std::vector<Container> Containers() const;
  /// Names of running containers of a pod, sorted.
  std::vector<std::string> Running(const std::string& pod_uid) const;
  size_t Calls(std::string_view method) const;
  /// Annotations of the last ImageStatus call.
  StringMap ImageAnnotations() const;
  /// Violations by an agent: two running containers of one name in a pod, or removal of a running
  /// container.
  std::vector<std::string> Violations() const;

  /// State that survives a restart of a runtime, for a server's state file.
  std::string Save() const;
  Status Restore(const std::string& saved);

 private:
  struct World;
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
  void Deliver();

  const Clock& clock_;
  Options options_;
  mutable std::mutex mutex_;  // guards world_
  std::unique_ptr<World> world_;
};

/// Expands "busybox" to "docker.io/library/busybox:latest".
std::string NormalImageName(const std::string& image);

}  // namespace splitlet::cri
