#pragma once

/// The controls of FakeRuntime, with which a test sets, changes and inspects its state: programmed
/// containers, faults, events, changes outside the agent, and the true state.
/// Threads: any.
/// Errors: NOT_FOUND for a container that does not exist.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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

class FakeControls {
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
  struct Subscriber {
    std::function<void(const ContainerEvent&)> on_event;
    std::function<void(const Status&)> on_end;
  };

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

 protected:
  struct World;
  FakeControls(const Clock& clock, Options options);
  ~FakeControls();
  /// Sends the events that wait in the outbox.
  void Deliver();

  const Clock& clock_;
  Options options_;
  mutable std::mutex mutex_;  // guards world_
  std::unique_ptr<World> world_;
};

/// Expands "busybox" to "docker.io/library/busybox:latest".
std::string NormalImageName(const std::string& image);

}  // namespace splitlet::cri
