#pragma once

/// A node under chaos: actions on it, and its true state as the container runtime and the kernel
/// report it, never its own tables. LocalNode is a stack of deploy/local; FakeNode (in the tests)
/// is a node in memory with bugs on demand. Called by Engine, Checker and the rules.
/// Threads: one; calls block for a second or two at most.
/// Errors: of each action; a snapshot marks the sources that did not answer.
/// Units: container times are wall times, as the runtime gives them.

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chaos/scenario/plan.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::chaos {

struct SeenSandbox {
  std::string id, pod, uid;  // pod: full name, with the node's name
  uint32_t attempt = 0;
  bool ready = false;
};

struct SeenContainer {
  enum class State { kCreated, kRunning, kExited, kUnknown };
  std::string id, sandbox, pod, uid, name;
  uint32_t attempt = 0;
  State state = State::kUnknown;
  bool never_ran = false;           // the container ended before its process was started
  std::optional<WallTime> started;  // nullopt: it never started, or the time is unknown
  int restarts = 0;                 // restarts within the incarnation; `attempt` counts over the
                                    // whole UID
};

/// A pod's status, from the node's own report or from the API server.
struct ReportedContainer {
  std::string name, id;
  int restarts = 0;
  bool ready = false, running = false;
  bool operator==(const ReportedContainer&) const = default;
};
struct ReportedPod {
  std::string name, uid, phase;
  bool ready = false;
  std::vector<ReportedContainer> containers;
  // For statuses of the API server only: is it a mirror pod, has it a deletion time, and the
  // `version` of its PodToRun.
  bool mirror = false, deleting = false;
  int version = -1;
};

/// Events of a pod at the API server, each occurrence counted.
struct SeenEvents {
  std::string pod, uid;  // pod: its name at the API server
  int64_t count = 0;
};

struct SeenProcess {
  std::string name;
  pid_t pid = 0;  // 0: the process does not run
  uint64_t memory_bytes = 0;
  int descriptors = 0;
};

/// Lines that the containers themselves write.
struct Witness {
  std::vector<WallTime> starts, terms;
  int post_starts = 0, pre_stops = 0;  // started hooks, once for each container
  int hooks_again = 0;                 // hooks that started a second time in one container
};

struct Snapshot {
  Clock::Time at;
  WallTime wall;
  bool runtime_answered = false, status_answered = false;
  std::vector<SeenSandbox> sandboxes;
  std::vector<SeenContainer> containers;
  std::vector<ReportedPod> reported;
  bool server_answered = false;     // the API server answered
  bool node_ready = false;          // the Ready condition of the node at the API server
  std::vector<ReportedPod> served;  // pods at the API server
  std::vector<SeenEvents> events;   // events at the API server; at most a few seconds old
  std::vector<SeenProcess> processes;
  std::map<std::string, Witness> witnesses;  // by the name in the manifest: "web-3.2"
};

struct BusLine {
  WallTime at;
  std::string text;
};

/// A pod to create on the node, as a manifest or as an object of the API server.
struct PodToRun {
  std::string name;     // web-3
  std::string witness;  // name of the file that its container writes; empty: none
  const PodTemplate* from = nullptr;
  int version = 0;  // grows with each version of the pod, and changes the manifest
};

class Node {
 public:
  virtual ~Node() = default;

  /// Why this node cannot have this fault, and what would help, in one line.
  virtual Status CanDo(const Action& action) = 0;
  virtual Status CanServe() = 0;  // OK: the node has an API server that takes pods

  virtual Status PutPod(const PodToRun& pod) = 0;
  virtual Status RemovePod(const std::string& name) = 0;
  virtual Status Begin(const Action& action) = 0;
  /// CANCELLED: the fault ended before it came into force.
  virtual Status End(const Action& action) = 0;
  /// Sets the fault again in a process that was restarted.
  virtual Status Again(const Action& action) = 0;

  virtual Snapshot Inspect() = 0;
  /// The exit time of this container by the runtime; nullopt: the runtime no longer has the
  /// container.
  virtual std::optional<WallTime> EndOf(const std::string& container) = 0;
  /// The full name of a pod: "web-3-node", also at the API server.
  virtual std::string FullName(const std::string& pod) const = 0;
  /// Processes that do not answer or are unhealthy, a line each; empty: all are healthy.
  virtual std::vector<std::string> Unwell() = 0;
  /// Mounts, cgroups, network namespaces, files and records of pods, each as one line that does not
  /// change as long as it exists.
  virtual std::set<std::string> HostResources() = 0;
  /// Asks the node to clean up now. Called repeatedly.
  virtual Status CleanUp() = 0;
  /// Removes by hand, and returns, the resources of sandboxes and containers that the runtime has
  /// lost after an interrupted call. No agent can remove them through the runtime.
  virtual std::set<std::string> RemoveRuntimeLeaks(const std::set<std::string>& resources) = 0;
  virtual std::vector<BusLine> BusBetween(WallTime from, WallTime to) = 0;
};

}  // namespace splitlet::chaos
