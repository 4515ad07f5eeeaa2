#pragma once

/// The state behind FakeRuntime, and its changes with time. No locks, no faults.
/// Threads: one at a time (FakeRuntime's lock); errors and units as in cri.h.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/fake_controls.h"

namespace splitlet::cri {

inline constexpr std::string_view kPodUidLabel = "io.kubernetes.pod.uid";
inline constexpr int32_t kKilled = 137;

struct FakeControls::World {
  struct SandboxEntry {
    Sandbox record;
    std::string log_directory;
  };
  struct ContainerEntry {
    Container record;
    ContainerBehaviour behaviour;
    std::optional<Clock::Time> exit_due;
    int32_t due_code = 0;
    std::string due_reason;
    std::optional<Clock::Time> shown_from;  // from then on calls show the exit
  };
  struct FaultEntry {
    Fault fault;
    int hanging = 0;
  };
  struct Stream {
    Subscriber subscriber;
  };
  using PodAndName = std::pair<std::string, std::string>;

  World(const Clock& c, const Options& o) : clock(c), options(o) {}

  /// The unique name that the runtime reserves.
  static std::string NameOf(const Sandbox& sandbox);
  static std::string NameOf(const std::string& pod_uid, const Container& container);

  // Time.
  void Tick();
  std::optional<Clock::Time> NextDue() const;
  int64_t NewTimestamp();  // wall time in ns; unique until the clock is set back

  // Sandboxes.
  StatusOr<SandboxId> AddSandbox(Sandbox record, const std::string& log_directory);
  void StopSandbox(SandboxEntry& sandbox);
  void RemoveSandbox(const SandboxId& id);

  // Containers.
  StatusOr<ContainerId> AddContainer(const SandboxId& sandbox, Container record,
                                     std::vector<Mount> mounts);
  Status Start(const ContainerId& id);
  void FailStart(ContainerEntry& entry, std::string why);
  void BeginStop(ContainerEntry& entry, Duration grace);
  void Exit(ContainerEntry& entry, Clock::Time when, int32_t code, const std::string& reason);
  void RemoveContainer(const ContainerId& id);
  Container Show(const ContainerEntry& entry) const;
  bool IsRunning(const ContainerId& id) const;
  const ContainerBehaviour& BehaviourOf(const std::string& uid, const std::string& name);
  std::string PodUidOf(const Container& record) const;
  /// UID, name, and name without "-<node>" of a pod; `sandbox` if it has none yet.
  std::vector<std::string> AliasesOf(const std::string& uid, const Sandbox* sandbox) const;
  /// True if the call concerns the pod that `pod` (UID, name, name without node) names.
  bool IsAbout(const std::string& pod, const std::string& uid, const Sandbox* sandbox) const;

  // Images.
  const Image* FindImage(const std::string& name) const;
  const Image& StoreImage(const std::string& image, uint64_t size_bytes);

  void Emit(ContainerEvent::Kind kind, const std::string& id, const std::string& uid);
  void EndStreams(const Status& status);
  std::string NewId(std::string_view kind);

  /// The state as CRI messages: a PodSandboxStatusResponse for each sandbox with its containers,
  /// then the images.
  std::string Save() const;
  Status Restore(const std::string& saved);

  const Clock& clock;
  const Options& options;
  std::map<SandboxId, SandboxEntry> sandboxes;
  std::map<ContainerId, ContainerEntry> containers;
  std::map<std::string, SandboxId> sandbox_names;      // name_namespace_uid_attempt
  std::map<std::string, ContainerId> container_names;  // name_uid_attempt
  std::map<std::string, Image> images;                 // by id
  ImageFsReport image_fs{.images = {{"/var/lib/containerd", 1 << 30, 1000}}, .containers = {}};
  std::string sandbox_image = "registry.k8s.io/pause:3.9";
  std::map<ContainerId, ContainerStats> stats;
  RuntimeReport report{
      .conditions = {{"RuntimeReady", true, "", ""}, {"NetworkReady", true, "", ""}},
      .handlers = {}};

  std::map<PodAndName, std::vector<ContainerBehaviour>> behaviours;
  std::map<PodAndName, size_t> starts;
  std::map<PodAndName, StatusOr<ExecResult>> execs;
  std::map<std::string, PullBehaviour> pulls;  // by normalised name

  bool down = false;
  uint64_t downs = 0;  // number of times that the runtime went down
  int last_fault = 0;
  std::map<int, FaultEntry> faults;
  std::map<std::string, size_t, std::less<>> calls;
  StringMap image_annotations;  // annotations of the last ImageStatus

  bool events_available = true;
  int drop_events = 0, double_events = 0;
  Duration exit_lag{0};
  int last_stream = 0;
  std::map<int, Stream> streams;
  struct Outgoing {
    Subscriber to;
    std::optional<ContainerEvent> event;  // unset: end of the stream
    Status end;
  };
  std::deque<Outgoing> outbox;

  std::vector<std::string> violations;
  uint64_t exits = 0;  // exits of containers since the start
  int64_t last_timestamp = 0;
  uint64_t last_id = 0;
};

}  // namespace splitlet::cri
