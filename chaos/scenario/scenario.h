#pragma once

/// A chaos scenario: its pods, the load on them, the faults and their times, and the limits.
/// Written as YAML; the parser is strict. Nothing is random here: see plan.h. Parsed by
/// RunScenario.
/// Threads: values.
/// Errors: INVALID_ARGUMENT, one line with file, field, reason and line number.
/// Units: durations from the start of the round.
/// Source: docs/reliability.md, "A scenario".

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::chaos {

/// How an undisturbed pod ends.
enum class Ends { kRuns, kSucceeds, kFails, kRestarts };

struct PodTemplate {
  std::string name;  // pods are named <name>-0, <name>-1, ...
  int count = 1;
  bool at_start = true;   // false: only load creates them
  bool same_uid = false;  // each pod keeps its UID over deletion and update
  bool unharmed = false;  // its containers must not end, and it must stay ready
  bool api = false;       // true: an object of the API server; false: a manifest
  bool forced = false;    // deletions give no grace period, and remove the object immediately
  Ends ends = Ends::kRuns;
  // Either a script for one container with the image of the local stack, ...
  std::string script;
  bool ignores_term = false;
  int sidecars = 0;     // sidecars, which start before the container and end after it
  int cpu_percent = 0;  // CPU request, in percent of the node's CPUs
  int host_port = 0;
  bool probed = false;                   // the container has exec probes of all three kinds
  bool hooked = false;                   // the container has hooks postStart and preStop, which
                                         // record their start
  bool volumes = false;                  // the pod has a volume of each kind, and its script checks
                                         // their files
  std::shared_ptr<const kube::Pod> pod;  // ... or a whole pod; never null
};

/// Once, or repeatedly with gaps drawn between `every_low` and `every_high`.
struct When {
  Duration first{0}, every_low{0}, every_high{0};  // every_low 0: once
  Duration until{0};                               // end of the repetition; 0: the end of the round
};

struct Load {
  enum class Kind { kCreate, kDelete, kUpdate, kWave };
  Kind kind = Kind::kCreate;
  std::string pods;  // name of a pod template
  When when;
  int batch = 1;
};

enum class FaultKind {
  kKill,             // SIGKILL
  kPause,            // SIGSTOP for a time
  kDown,             // stopped and kept down for a time
  kRestart,          // SIGTERM, after which the supervisor restarts the process
  kFailPoint,        // a term at a fail point
  kSlowRuntime,      // each call to the runtime takes longer by this much
  kLoseMessages,     // messages that this process sends on the bus
  kDelayMessages,    // the same messages, late
  kClockJump,        // the wall clock of a process jumps ahead or back
  kPartition,        // drops all packets between this process and the bus
  kFillDisk,         // a file system of the stack is full
  kLimitMemory,      // limits the address space of a process
  kHangPod,          // the runtime's shim of a pod does not answer
  kEndContainer,     // a container is killed outside the agent
  kRemoveContainer,  // a container is removed through the runtime, running or not
  kBreakManifest,    // the manifest of a pod is invalid YAML for a time
  kTakePort,         // another program listens on the port of a process
  kFlood,            // another member of the group sends a process too many calls
  kCollect,          // gc is asked for a round
  kUpgrade,          // a process runs from a replaced binary from then on
  kReboot,           // all processes die at the same time, and the boot id changes
  kServerAnswers,    // the API server gives the same answer to every request
  kEndWatches,       // the API server ends all watches, and may forget old versions
};
std::string_view NameOf(FaultKind kind);  // name in a scenario: "failPoint"

struct Fault {
  FaultKind kind = FaultKind::kKill;
  When when;
  Duration lasting_low{0}, lasting_high{0};
  std::vector<std::string> targets;  // processes, pod templates or a folder; the plan draws one of
                                     // them
  bool all_targets = false;          // the fault hits all targets at the same time
  std::string point, term;           // only for kFailPoint
  std::vector<std::string> answers;  // only for kServerAnswers and kEndWatches; the plan draws one
  Duration delay{0}, jump{0};
  double percent = 0;
  uint64_t bytes = 0;
  int line = 0;
};

struct Limits {
  Duration settle{60s};  // from the last fault until everything is as it should be
  Duration back{10s};    // from the death of a process until it runs again
  Duration grace{1s};    // tolerance of the grace period
  uint64_t memory_bytes = 256u << 20;
  int descriptors = 1024;
  int events = 100;  // events of one pod at the API server in a minute, each occurrence counted
};

struct Scenario {
  std::string name, about, file;
  bool api_server = false;  // the node has an API server
  uint64_t seed = 1;
  Duration duration{30s};
  std::vector<PodTemplate> pods;
  std::vector<Load> load;
  std::vector<Fault> faults;
  Limits limits;
};

/// Services that can be killed, paused and stopped; and those of them that are splitlet processes
/// on every node.
const std::vector<std::string>& Services();
const std::vector<std::string>& Processes();
/// Additional services of a stack with an API server.
inline constexpr const char* kApiServer = "api-server";
inline constexpr const char* kNodeApi = "node-api";

/// Reads a file that a scenario names by a path relative to the scenario.
using ReadFile = std::function<StatusOr<std::string>(const std::string& name)>;

/// `file` is only for errors.
StatusOr<Scenario> ParseScenario(const std::string& text, const std::string& file,
                                 const ReadFile& read);

}  // namespace splitlet::chaos
