#pragma once

/// The CRI calls that splitlet makes, cut into roles; each process gets the narrowest. Reader looks
/// only, Runner makes and stops, Images handles images, Remover removes what is dead, Logs has log
/// files opened anew, Stats measures. The gRPC client (grpc_runtime.h) and FakeRuntime
/// (fake_runtime.h) pass the same contract test.
/// Threads: any; each call blocks until its answer or its deadline.
/// Errors: gRPC codes, unchanged; a removal of what is gone is OK.
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

/// As listed; `ips` only from PodSandboxStatus.
struct Sandbox {
  SandboxId id;
  std::string pod_name, pod_namespace, pod_uid;
  uint32_t attempt = 0;
  SandboxState state = SandboxState::kNotReady;
  int64_t created_at_ns = 0;
  StringMap labels, annotations;
  std::string runtime_handler;
  std::vector<std::string> ips;  // first is the primary one
  bool host_network = false;     // NODE namespace; only from PodSandboxStatus
};

struct Mount {
  std::string container_path, host_path;
  bool read_only = false;
};

/// As whom the first process of a container runs.
struct ContainerUser {
  int64_t uid = 0, gid = 0;
  std::vector<int64_t> supplemental_groups;
  bool operator==(const ContainerUser&) const = default;
};

/// What a container may use, as the runtime has set it; 0: nothing is set.
struct ContainerResources {
  int64_t cpu_request_millis = 0, cpu_limit_millis = 0, memory_limit_bytes = 0;
  bool operator==(const ContainerResources&) const = default;
};

/// As listed; the fields below `--` only from ContainerStatus.
struct Container {
  ContainerId id;
  SandboxId sandbox_id;
  std::string name;
  uint32_t attempt = 0;
  ContainerState state = ContainerState::kUnknown;
  int64_t created_at_ns = 0;
  StringMap labels, annotations;
  std::string image;      // as asked for
  std::string image_ref;  // as the runtime resolved it
  std::string image_id;
  // --
  int64_t started_at_ns = 0, finished_at_ns = 0;
  int32_t exit_code = 0;
  std::string reason, message;
  std::string log_path;  // absolute
  std::vector<Mount> mounts;
  std::optional<ContainerUser> user;            // unset: the runtime does not say
  std::optional<ContainerResources> resources;  // likewise
};

/// Newest first: the higher attempt, then the later creation, which alone says nothing: the
/// machine's wall clock may step between two attempts (docs/safety.md, rule 5).
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

/// What can be enforced with one of the runtime's handlers.
struct RuntimeHandler {
  std::string name;  // empty: the default one
  bool recursive_read_only_mounts = false, user_namespaces = false;
  bool operator==(const RuntimeHandler&) const = default;
};

struct RuntimeReport {
  std::vector<RuntimeCondition> conditions;
  std::vector<RuntimeHandler> handlers;  // an older runtime names none
  bool supplemental_groups_policy = false, user_namespaces_host_network = false;
};

struct Image {
  std::string id;
  std::vector<std::string> tags, digests;
  uint64_t size_bytes = 0;
  bool pinned = false;
  std::optional<int64_t> uid;  // user of the image when it is a number
  std::string username;        // when it is a name
};

/// How much is kept of what a command prints on each of its streams.
struct OutputLimit {
  size_t bytes = 10u << 10;
  bool last = false;  // the end of it, instead of its beginning

  void Cut(std::string& output) const {
    if (output.size() > bytes) output = output.substr(last ? output.size() - bytes : 0, bytes);
  }
};

struct ExecCommand {
  std::vector<std::string> words;
  Duration timeout{0};  // after which the runtime kills it; 0: never
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

/// Where the runtime keeps images, and what containers write. A runtime that names no file system
/// of containers keeps both in one place.
struct ImageFsReport {
  std::vector<FsUsage> images, containers;
};

/// A container event says only "look at this pod".
struct ContainerEvent {
  /// kStopping: its process has ended, and the runtime has yet to clean up before it says so.
  enum class Kind { kCreated, kStarted, kStopping, kStopped, kDeleted };
  Kind kind = Kind::kCreated;
  std::string container_id;
  std::string pod_uid;  // may be empty where the stream knows containers only
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual StatusOr<RuntimeInfo> Version(Deadline deadline) = 0;
  virtual StatusOr<RuntimeReport> RuntimeStatus(Deadline deadline) = 0;
  /// All sandboxes, ready or not, newest first. `pod_uid` empty: of all pods. None is an empty
  /// vector, not an error.
  virtual StatusOr<std::vector<Sandbox>> ListPodSandbox(const std::string& pod_uid,
                                                        Deadline deadline) = 0;
  /// NOT_FOUND when gone.
  virtual StatusOr<Sandbox> PodSandboxStatus(const SandboxId& id, Deadline deadline) = 0;
  /// All containers in any state, newest first.
  virtual StatusOr<std::vector<Container>> ListContainers(const ContainerFilter& filter,
                                                          Deadline deadline) = 0;
  /// NOT_FOUND when gone.
  virtual StatusOr<Container> ContainerStatus(const ContainerId& id, Deadline deadline) = 0;
};

class Runner {
 public:
  virtual ~Runner() = default;
  /// ALREADY_EXISTS when a sandbox of this name, namespace, UID and attempt exists or is reserved
  /// in the runtime.
  virtual StatusOr<SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                            const std::string& handler, Deadline deadline) = 0;
  virtual Status StopPodSandbox(const SandboxId& id, Deadline deadline) = 0;
  /// ALREADY_EXISTS when a container of this name and attempt exists or is reserved in the sandbox.
  virtual StatusOr<ContainerId> CreateContainer(const SandboxId& sandbox,
                                                const runtime::v1::ContainerConfig& config,
                                                const runtime::v1::PodSandboxConfig& sandbox_config,
                                                Deadline deadline) = 0;
  virtual Status StartContainer(const ContainerId& id, Deadline deadline) = 0;
  /// TERM, then KILL after `grace_seconds`. One that is dead or gone is OK. The deadline must leave
  /// room for the grace.
  virtual Status StopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline) = 0;
};

class Exec {
 public:
  virtual ~Exec() = default;
  /// Runs a command in a running container until it ends; the exit code is right however much it
  /// prints. DEADLINE_EXCEEDED when the runtime has killed it for its timeout; the deadline must
  /// leave room for that.
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

/// What is asked of an image.
struct ImageQuery {
  std::string image;           // name or id
  StringMap annotations = {};  // of the pod that it is for
};

class Images {
 public:
  virtual ~Images() = default;
  virtual StatusOr<std::vector<Image>> ListImages(Deadline deadline) = 0;
  /// nullopt when the image is not there.
  virtual StatusOr<std::optional<Image>> ImageStatus(const ImageQuery& query,
                                                     Deadline deadline) = 0;
  /// The image's reference.
  virtual StatusOr<std::string> PullImage(const std::string& image,
                                          const runtime::v1::AuthConfig* auth,
                                          const runtime::v1::PodSandboxConfig& sandbox_config,
                                          Deadline deadline) = 0;
  virtual StatusOr<ImageFsReport> ImageFsInfo(Deadline deadline) = 0;
  /// The image that the runtime makes sandboxes of, as its configuration names it; empty where it
  /// does not say. Some pin it instead (Image::pinned).
  virtual StatusOr<std::string> SandboxImage(Deadline deadline) = 0;
};

class Logs {
 public:
  virtual ~Logs() = default;
  /// From now on the container's output goes to a new file under its log path. An error when it is
  /// not running; then nothing has changed.
  virtual Status ReopenContainerLog(const ContainerId& id, Deadline deadline) = 0;
};

class Stats {
 public:
  virtual ~Stats() = default;
  virtual StatusOr<std::vector<ContainerStats>> ListContainerStats(Deadline deadline) = 0;
};

/// A stream of container events. Reconnecting is the caller's business (pleg chooses the source
/// anew).
class EventStream {
 public:
  virtual ~EventStream() = default;
  /// Blocks until the stream ends; UNIMPLEMENTED when the runtime has none. `on_open` once when it
  /// is established, `on_event` for each, both on this thread. Ends early when `deadline.cancel` is
  /// cancelled (then CANCELLED); `deadline.at` bounds only the opening.
  virtual Status Follow(Deadline deadline, const std::function<void()>& on_open,
                        const std::function<void(const ContainerEvent&)>& on_event) = 0;
};

}  // namespace splitlet::cri
