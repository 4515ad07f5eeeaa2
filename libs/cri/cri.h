#pragma once

/// The CRI calls that splitlet makes, split into roles, so that each process gets only the calls it
/// needs. Reader only reads, Runner creates and stops, Images handles images, Remover removes ended
/// sandboxes and containers, Logs reopens log files, Stats measures. The gRPC client
/// (grpc_runtime.h) and FakeRuntime (fake_runtime.h) pass the same contract test.
/// Threads: any; each call blocks until its answer or its deadline.
/// Errors: gRPC codes, unchanged; a removal of a missing object is OK.
/// Units: CRI times are nanoseconds since the epoch, memory bytes.
/// Source: CRI v1.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/base/strong_id.h"

namespace runtime::v1 {
class PodSandboxConfig;
class ContainerConfig;
class AuthConfig;
}  // namespace runtime::v1

namespace splitlet::cri {

struct SandboxIdTag;
struct ContainerIdTag;
using SandboxId = StrongId<SandboxIdTag>;
using ContainerId = StrongId<ContainerIdTag>;

using StringMap = std::map<std::string, std::string>;

enum class SandboxState { kReady, kNotReady };
enum class ContainerState { kCreated, kRunning, kExited, kUnknown };

/// Fields of a listing; only PodSandboxStatus sets `ips`.
struct Sandbox {
  SandboxId id;
  std::string pod_name, pod_namespace, pod_uid;
  uint32_t attempt = 0;
  SandboxState state = SandboxState::kNotReady;
  int64_t created_at_ns = 0;
  StringMap labels, annotations;
  std::string runtime_handler;
  std::vector<std::string> ips;  // the first is the primary address
  bool host_network = false;     // NODE namespace; only from PodSandboxStatus
};

struct Mount {
  std::string container_path, host_path;
  bool read_only = false;
};

/// The user of a container's first process.
struct ContainerUser {
  int64_t uid = 0, gid = 0;
  std::vector<int64_t> supplemental_groups;
  bool operator==(const ContainerUser&) const = default;
};

/// Resources that the runtime has set for a container; 0: none.
struct ContainerResources {
  int64_t cpu_request_millis = 0, cpu_limit_millis = 0, memory_limit_bytes = 0;
  bool operator==(const ContainerResources&) const = default;
};

/// Fields of a listing; only ContainerStatus sets the fields below `--`.
struct Container {
  ContainerId id;
  SandboxId sandbox_id;
  std::string name;
  uint32_t attempt = 0;
  ContainerState state = ContainerState::kUnknown;
  int64_t created_at_ns = 0;
  StringMap labels, annotations;
  std::string image;      // name as requested
  std::string image_ref;  // reference as resolved by the runtime
  std::string image_id;
  // --
  int64_t started_at_ns = 0, finished_at_ns = 0;
  int32_t exit_code = 0;
  std::string reason, message;
  std::string log_path;  // absolute path
  std::vector<Mount> mounts;
  std::optional<ContainerUser> user;            // unset: the runtime does not report it
  std::optional<ContainerResources> resources;  // unset: the runtime does not report it
};

/// Newest first: the higher attempt, then the later creation. The time alone is not enough, because
/// the wall clock may step between two attempts (docs/safety.md, rule 5).
template <class Record>
bool IsNewer(const Record& a, const Record& b) {
  if (a.attempt != b.attempt) return a.attempt > b.attempt;
  if (a.created_at_ns != b.created_at_ns) return a.created_at_ns > b.created_at_ns;
  return a.id < b.id;
}

struct ContainerFilter {
  std::string pod_uid;   // label io.kubernetes.pod.uid; empty: all
  SandboxId sandbox_id;  // empty: all
};

struct RuntimeInfo {
  std::string name, version, api_version;  // "containerd", "1.6.20~ds1", "v1"
};

struct RuntimeCondition {
  std::string type;  // RuntimeReady, NetworkReady
  bool status = false;
  std::string reason, message;
};

/// Features that at least one of the runtime's handlers supports.
struct RuntimeHandler {
  std::string name;  // empty: the default handler
  bool recursive_read_only_mounts = false, user_namespaces = false;
  bool operator==(const RuntimeHandler&) const = default;
};

struct RuntimeReport {
  std::vector<RuntimeCondition> conditions;
  std::vector<RuntimeHandler> handlers;  // empty if the runtime is too old to list them
  bool supplemental_groups_policy = false, user_namespaces_host_network = false;
};

struct Image {
  std::string id;
  std::vector<std::string> tags, digests;
  uint64_t size_bytes = 0;
  bool pinned = false;
  std::optional<int64_t> uid;  // a numeric user of the image
  std::string username;        // a named user of the image
};

/// Limit of the kept output of a command, for each stream.
struct OutputLimit {
  size_t bytes = 10u << 10;
  bool last = false;  // keeps the end of the output instead of its start

  void Cut(std::string& output) const {
    if (output.size() > bytes) output = output.substr(last ? output.size() - bytes : 0, bytes);
  }
};

struct ExecCommand {
  std::vector<std::string> words;
  Duration timeout{0};  // time after which the runtime kills the command; 0: never
  OutputLimit keep = {};
};

struct ExecResult {
  int32_t exit_code = 0;
  std::string out, err;
};

struct ContainerStats {
  ContainerId id;
  uint64_t cpu_usage_ns = 0, memory_working_set_bytes = 0, writable_layer_bytes = 0;
  std::optional<uint64_t> writable_layer_inodes;  // unset: the runtime does not count them
};

struct FsUsage {
  std::string mountpoint;
  uint64_t used_bytes = 0, inodes_used = 0;
};

/// File systems of images and of containers' writable layers. A runtime that reports no file system
/// for containers keeps both in one.
struct ImageFsReport {
  std::vector<FsUsage> images, containers;
};

/// Only a hint to inspect the pod.
struct ContainerEvent {
  /// kStopping: the process has ended, but the runtime is still cleaning up and does not report the
  /// end yet.
  enum class Kind { kCreated, kStarted, kStopping, kStopped, kDeleted };
  Kind kind = Kind::kCreated;
  std::string container_id;
  std::string pod_uid;  // may be empty, because some streams report containers only
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual StatusOr<RuntimeInfo> Version(Deadline deadline) = 0;
  virtual StatusOr<RuntimeReport> RuntimeStatus(Deadline deadline) = 0;
  /// All sandboxes, ready or not, newest first. An empty `pod_uid` selects all pods.
  virtual StatusOr<std::vector<Sandbox>> ListPodSandbox(const std::string& pod_uid,
                                                        Deadline deadline) = 0;
  /// NOT_FOUND if the sandbox was removed.
  virtual StatusOr<Sandbox> PodSandboxStatus(const SandboxId& id, Deadline deadline) = 0;
  /// All containers in any state, newest first.
  virtual StatusOr<std::vector<Container>> ListContainers(const ContainerFilter& filter,
                                                          Deadline deadline) = 0;
  /// NOT_FOUND if the container was removed.
  virtual StatusOr<Container> ContainerStatus(const ContainerId& id, Deadline deadline) = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// ALREADY_EXISTS if a sandbox of this name, namespace, UID and attempt exists or is being
  /// created.
  virtual StatusOr<SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                            const std::string& handler, Deadline deadline) = 0;
  virtual Status StopPodSandbox(const SandboxId& id, Deadline deadline) = 0;
  /// ALREADY_EXISTS if a container of this name and attempt exists in the sandbox or is being
  /// created.
  virtual StatusOr<ContainerId> CreateContainer(const SandboxId& sandbox,
                                                const runtime::v1::ContainerConfig& config,
                                                const runtime::v1::PodSandboxConfig& sandbox_config,
                                                Deadline deadline) = 0;
  virtual Status StartContainer(const ContainerId& id, Deadline deadline) = 0;
  /// Sends TERM, then KILL after `grace_seconds`. OK if the container has ended or was removed. The
  /// deadline must be later than the grace period.
  virtual Status StopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline) = 0;
};

class Exec {
 public:
  virtual ~Exec() = default;
  /// Runs a command in a running container to its end; the exit code is right for any amount of
  /// output. DEADLINE_EXCEEDED: the runtime killed the command at its timeout, so the deadline must
  /// be later than that.
  virtual StatusOr<ExecResult> ExecSync(const ContainerId& id, const ExecCommand& command,
                                        Deadline deadline) = 0;
};

class Remover {
 public:
  virtual ~Remover() = default;
  virtual Status RemovePodSandbox(const SandboxId& id, Deadline deadline) = 0;
  virtual Status RemoveContainer(const ContainerId& id, Deadline deadline) = 0;
  virtual Status RemoveImage(const std::string& id, Deadline deadline) = 0;
};

/// Selects an image for ImageStatus.
struct ImageQuery {
  std::string image;           // name or id of the image
  StringMap annotations = {};  // of the pod that needs the image
};

class Images {
 public:
  virtual ~Images() = default;
  virtual StatusOr<std::vector<Image>> ListImages(Deadline deadline) = 0;
  /// nullopt if the image does not exist.
  virtual StatusOr<std::optional<Image>> ImageStatus(const ImageQuery& query,
                                                     Deadline deadline) = 0;
  /// Returns the image's reference.
  virtual StatusOr<std::string> PullImage(const std::string& image,
                                          const runtime::v1::AuthConfig* auth,
                                          const runtime::v1::PodSandboxConfig& sandbox_config,
                                          Deadline deadline) = 0;
  virtual StatusOr<ImageFsReport> ImageFsInfo(Deadline deadline) = 0;
  /// The runtime's configured sandbox image; empty if unknown. Some runtimes pin that image instead
  /// (Image::pinned).
  virtual StatusOr<std::string> SandboxImage(Deadline deadline) = 0;
};

class Logs {
 public:
  virtual ~Logs() = default;
  /// Moves the container's output to a new file at its log path. An error without effect if the
  /// container does not run.
  virtual Status ReopenContainerLog(const ContainerId& id, Deadline deadline) = 0;
};

class Stats {
 public:
  virtual ~Stats() = default;
  virtual StatusOr<std::vector<ContainerStats>> ListContainerStats(Deadline deadline) = 0;
};

/// A stream of container events. After its end the caller connects again; pleg then chooses the
/// source again.
class EventStream {
 public:
  virtual ~EventStream() = default;
  /// Blocks until the stream ends; UNIMPLEMENTED: the runtime has no such stream. Calls `on_open`
  /// once it is established and `on_event` for each event, on this thread. CANCELLED by
  /// `deadline.cancel`; `deadline.at` bounds only the opening.
  virtual Status Follow(Deadline deadline, const std::function<void()>& on_open,
                        const std::function<void(const ContainerEvent&)>& on_event) = 0;
};

}  // namespace splitlet::cri
