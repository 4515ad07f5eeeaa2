#pragma once

/// A node under chaos: what is done to it, and what it truly is, which is what its container
/// runtime and its kernel say, not its own tables. LocalNode is a stack of deploy/local, FakeNode
/// (in the tests) one in memory with bugs on demand. Called by Engine and Checker.
/// Threads: one; calls block for a second or two at most.
/// Errors: of what is done; what cannot be seen at the moment is said to be so in the snapshot.
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
  std::string id, pod, uid;  // pod: full name, with the node's
  uint32_t attempt = 0;
  bool ready = false;
};

struct SeenContainer {
  enum class State { kCreated, kRunning, kExited, kUnknown };
  std::string id, sandbox, pod, uid, name;
  uint32_t attempt = 0;
  State state = State::kUnknown;
  bool never_ran = false;           // ended before its process was started
  std::optional<WallTime> started;  // not known of one that never did, or when nobody could say
  int restarts = 0;                 // of its incarnation; the attempt goes on over all of the UID
};

/// As the node's own status of a pod has it, or the API server.
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
  // Of one at the API server: of a static pod, told to go, and the `version` of its PodToRun.
  bool mirror = false, deleting = false;
  int version = -1;
};

/// What the API server was told of a pod: occurrences of all its events.
struct SeenEvents {
  std::string pod, uid;  // pod: its name there
  int64_t count = 0;
};

struct SeenProcess {
  std::string name;
  pid_t pid = 0;  // 0: does not run
  uint64_t memory_bytes = 0;
  int descriptors = 0;
};

/// Written by the containers themselves.
struct Witness {
  std::vector<WallTime> starts, terms;
  int post_starts = 0, pre_stops = 0;  // hooks that began, the first of each kind in a container
  int hooks_again = 0;                 // that began a second time in one container
};

struct Snapshot {
  Clock::Time at;
  WallTime wall;
  bool runtime_answered = false, status_answered = false;
  std::vector<SeenSandbox> sandboxes;
  std::vector<SeenContainer> containers;
  std::vector<ReportedPod> reported;
  bool server_answered = false;     // the API server
  bool node_ready = false;          // there
  std::vector<ReportedPod> served;  // pods that it has
  std::vector<SeenEvents> events;   // there; as of some seconds ago at most
  std::vector<SeenProcess> processes;
  std::map<std::string, Witness> witnesses;  // by the name that the manifest gave: "web-3.2"
};

struct BusLine {
  WallTime at;
  std::string text;
};

/// A pod to be put on the node: a manifest of its own, or an object of the API server.
struct PodToRun {
  std::string name;     // web-3
  std::string witness;  // name of the file that its container writes; empty: none
  const PodTemplate* from = nullptr;
  int version = 0;  // another one is another manifest
};

class Node {
 public:
  virtual ~Node() = default;

  /// One line that says why this cannot be done here, and what to do about it.
  virtual Status CanDo(const Action& action) = 0;
  virtual Status CanServe() = 0;  // it is the node of an API server that takes pods

  virtual Status PutPod(const PodToRun& pod) = 0;
  virtual Status RemovePod(const std::string& name) = 0;
  virtual Status Begin(const Action& action) = 0;
  /// CANCELLED: it was over before it could come into force.
  virtual Status End(const Action& action) = 0;
  /// After a process came back: what was set in the one before.
  virtual Status Again(const Action& action) = 0;

  virtual Snapshot Inspect() = 0;
  /// When this container ended, as the runtime says; nothing when it does not know any more.
  virtual std::optional<WallTime> EndOf(const std::string& container) = 0;
  /// The full name of a pod: "web-3-node"; one of the API server is called so there.
  virtual std::string FullName(const std::string& pod) const = 0;
  /// What does not answer or says that it is not well; empty: all are well.
  virtual std::vector<std::string> Unwell() = 0;
  /// Mounts, cgroups, network namespaces, files, records that somebody must clean up, each as one
  /// line that is the same as long as it is there.
  virtual std::set<std::string> HostResources() = 0;
  /// Lets the node clean up now. Asked again and again.
  virtual Status CleanUp() = 0;
  /// After a call was cut off: which of these belong to a sandbox or container that the runtime
  /// does not know, so that nobody can have them removed through it. They are removed by hand.
  virtual std::set<std::string> RemoveRuntimeLeaks(const std::set<std::string>& resources) = 0;
  virtual std::vector<BusLine> BusBetween(WallTime from, WallTime to) = 0;
};

}  // namespace splitlet::chaos
