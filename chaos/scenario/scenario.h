#pragma once

/// A chaos scenario: the pods that run, what is done to them, what breaks when, and the limits.
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

/// How a pod ends if nothing disturbs it.
enum class Ends { kRuns, kSucceeds, kFails, kRestarts };

struct PodTemplate {
  std::string name;  // its pods are <name>-0, <name>-1, ...
  int count = 1;
  bool at_start = true;   // false: only load creates them
  bool same_uid = false;  // each pod keeps its UID over deletion and update
  bool unharmed = false;  // no container of it may end, and it may not become unready
  bool api = false;       // an object of the API server; else a manifest
  bool forced = false;    // deletions give no grace period: the object is gone immediately
  Ends ends = Ends::kRuns;
  // Either a script for one container of the local stack's image, ...
  std::string script;
  bool ignores_term = false;
  int sidecars = 0;     // start before it and end after it
  int cpu_percent = 0;  // of the node, that its container requests
  int host_port = 0;
  bool probed = false;                   // by commands, of all three kinds
  bool hooked = false;                   // postStart and preStop, which write that they begin
  bool volumes = false;                  // one of each kind; its script checks that they are filled
  std::shared_ptr<const kube::Pod> pod;  // ... or a whole pod; never null
};

/// Once, or again and again with gaps drawn between `every_low` and `every_high`.
struct When {
  Duration first{0}, every_low{0}, every_high{0};  // every_low 0: once
  Duration until{0};                               // of what repeats; 0: the end
};

struct Load {
  enum class Kind { kCreate, kDelete, kUpdate, kWave };
  Kind kind = Kind::kCreate;
  std::string pods;  // name of a template
  When when;
  int batch = 1;
};

enum class FaultKind {
  kKill,             // SIGKILL
  kPause,            // SIGSTOP for a time
  kDown,             // ended and kept down for a time
  kRestart,          // SIGTERM, up again
  kFailPoint,        // a term at a fail point
  kSlowRuntime,      // each call to the runtime takes that much longer
  kLoseMessages,     // on the bus, from this process
  kDelayMessages,    // the same, late
  kClockJump,        // the wall clock of a process is ahead or behind
  kPartition,        // no packet between this process and the bus
  kFillDisk,         // a file system of the stack has no room left
  kLimitMemory,      // of the address space of a process
  kHangPod,          // the runtime's shim of a pod answers nothing
  kEndContainer,     // a container is killed, as by itself
  kRemoveContainer,  // and removed through the runtime, running or not
  kBreakManifest,    // the manifest of a pod is no YAML for a time
  kTakePort,         // another program listens on the port of a process
  kFlood,            // another member of the group sends a process too many calls
  kCollect,          // gc is asked to make a round
  kUpgrade,          // a process runs from another file from then on
  kReboot,           // all processes die at the same time, and the boot id changes
  kServerAnswers,    // the API server gives one answer to every request
  kEndWatches,       // the API server ends all watches, and may have lost old versions
};
std::string_view NameOf(FaultKind kind);  // as in a scenario: "failPoint"

struct Fault {
  FaultKind kind = FaultKind::kKill;
  When when;
  Duration lasting_low{0}, lasting_high{0};
  std::vector<std::string> targets;  // one is drawn; processes, pods (templates) or a folder
  bool all_targets = false;          // all targets at the same time, not one
  std::string point, term;           // of kFailPoint
  std::vector<std::string> answers;  // of kServerAnswers and kEndWatches; one is drawn
  Duration delay{0}, jump{0};
  double percent = 0;
  uint64_t bytes = 0;
  int line = 0;
};

struct Limits {
  Duration settle{60s};  // after the last fault until everything is as it should be
  Duration back{10s};    // a process that died is there again
  Duration grace{1s};    // how far from its grace period a stop may be
  uint64_t memory_bytes = 256u << 20;
  int descriptors = 1024;
  int events = 100;  // at the API server about one pod in a minute, each occurrence
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

/// Services that can be killed, paused and stopped; and the splitlet processes among them that
/// every node has.
const std::vector<std::string>& Services();
const std::vector<std::string>& Processes();
/// Services of a stack that has an API server, beside the others.
inline constexpr const char* kApiServer = "api-server";
inline constexpr const char* kNodeApi = "node-api";

/// Reads a file that a scenario names, relative to it.
using ReadFile = std::function<StatusOr<std::string>(const std::string& name)>;

/// `file` stands in errors only.
StatusOr<Scenario> ParseScenario(const std::string& text, const std::string& file,
                                 const ReadFile& read);

}  // namespace splitlet::chaos
