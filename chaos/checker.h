#pragma once

/// The rules that hold whatever breaks, judged on what was seen of a node. On each inspection:
///   one-container   never two running containers of a name in a pod
///   one-sandbox     never two ready sandboxes of a pod
///   one-pod         never containers of two UIDs under one full name
///   no-rerun        a pod that may run once has not started twice in one incarnation
///   terminal        a pod whose status says that it has ended runs nothing, and stays ended; at
///                   the API server, too
///   resurrected     nothing runs of a pod that the API server has no more; of one that was deleted
///                   by force, once all of it has ended
///   events          the API server is told of a pod no more often in a minute than is allowed
///   order           sidecars start before and end after what the spec has behind them
///   room            what runs fits into the processors, and no two pods have one host port
///   grace           from TERM to the end no more than the grace period; from the removal no less
///   hooks           no hook begins twice in a container, and hooks do begin
///   unharmed        what the scenario calls so is not restarted and stays ready
///   process-back    a process that died is there again in time
///   memory, descriptors   of each process below their limits
/// and at rest: runs, ends, unwanted, status, restarts, server.
/// Called by Engine.
/// Threads: one.
/// Errors: none; what breaks a rule is a violation, announced once for each subject.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chaos/event_rates.h"
#include "chaos/node/node.h"
#include "chaos/violation.h"

namespace splitlet::chaos {

class Checker {
 public:
  Checker(const Scenario& scenario, Node& node) : scenario_(scenario), node_(node) {}

  void OnPut(const PodToRun& pod, const Snapshot& last);
  void OnRemoved(const std::string& name, WallTime at, const Snapshot& last);
  void OnBegin(const Action& action, WallTime at);
  void OnEnd(const Action& action, WallTime at);
  /// Of every inspection.
  void OnInspected(const Snapshot& snapshot);
  /// From now on `unharmed` counts.
  void OnSettled(const Snapshot& snapshot);

  /// What is not as it should be when nothing is broken any more; empty: all is right.
  std::vector<Violation> AtRest(const Snapshot& snapshot) const;
  /// After every pod was removed.
  std::vector<Violation> AfterAll(const Snapshot& snapshot) const;
  /// Found since the last call.
  std::vector<Violation> Take() { return std::exchange(found_, {}); }
  /// Containers whose pod was removed, or changed, and that have not ended.
  std::vector<Violation> StillRunning() const;

 private:
  struct Wanted {
    PodToRun pod;
    std::string full_name;
    std::map<std::string, std::string> unharmed;  // container name -> id, once settled
    // Put then, and nothing was left of another incarnation.
    std::optional<WallTime> new_incarnation;
  };
  struct Stop {
    std::string pod, container, name, witness;
    WallTime removed;
    Duration grace{0};
    bool ignores_term = false;
    bool may_live = false;  // the same UID was put again before anybody need have seen it go
  };
  struct Disturbance {
    FaultKind kind;
    std::string target, key;
    WallTime from, to;
    bool open = false;
  };
  struct Terminal {
    std::string pod, phase;
  };

  void Found(const std::string& rule, const std::string& subject, std::string text);
  void ExpectStops(const Wanted& wanted, WallTime at, const Snapshot& last);
  void CheckRuntime(const Snapshot& snapshot);
  void CheckTerminal(const Snapshot& snapshot);
  void CheckServer(const Snapshot& snapshot);
  void CheckLeft(const Snapshot& snapshot);
  void CheckEvents(const Snapshot& snapshot);
  void CheckReruns(const Snapshot& snapshot);
  void CheckHooks(const Snapshot& snapshot);
  /// None began although many should have.
  void CheckHooksRun(const Snapshot& snapshot, std::vector<Violation>& found) const;
  void CheckOrder(const Snapshot& snapshot);
  void CheckRoom(const Snapshot& snapshot);
  void CheckStops(const Snapshot& snapshot);
  void CheckStopOrder(const Stop& stop, WallTime ended, const Snapshot& snapshot);
  void CheckStop(const Stop& stop, const Snapshot& snapshot);
  void CheckUnharmed(const Snapshot& snapshot);
  void CheckProcesses(const Snapshot& snapshot);
  /// How much later a stop may be, because of what was broken meanwhile.
  Duration Excuse(WallTime from, WallTime to) const;
  bool EndedByFault(const Stop& stop, WallTime to) const;
  /// A container of it was killed or removed by a fault.
  bool WasHit(const std::string& pod) const;
  bool IsOurs(const std::string& full_name) const { return ours_.contains(full_name); }
  void CheckPod(const Wanted& wanted, const Snapshot& snapshot,
                std::vector<Violation>& found) const;
  void CheckStarted(const Wanted& wanted, const Snapshot& snapshot,
                    std::vector<Violation>& found) const;
  void CheckReported(const Wanted& wanted, const Snapshot& snapshot,
                     std::vector<Violation>& found) const;
  /// The API server has each pod once, as the node reports it, and calls the node ready.
  void CheckServed(const Wanted& wanted, const Snapshot& snapshot,
                   std::vector<Violation>& found) const;
  void CheckAtServer(const Snapshot& snapshot, std::vector<Violation>& found) const;
  /// Its last container was ended by the runtime before its process ran.
  bool EndedUnrun(const ReportedPod& reported) const;
  void CheckRestarts(const Wanted& wanted, const Snapshot& snapshot, const ReportedPod& reported,
                     std::vector<Violation>& found) const;

  const Scenario& scenario_;
  Node& node_;
  std::map<std::string, Wanted> wanted_;     // by short name
  std::map<std::string, std::string> ours_;  // full name -> short, of all that ever were
  std::map<std::string, const PodTemplate*> templates_;  // by full name, the same
  std::map<std::string, int> incarnations_;              // by short name: how often it was created
  // Sandbox -> container name -> its first start, if that is known.
  std::map<std::string, std::map<std::string, std::optional<WallTime>>> first_starts_;
  std::map<std::string, Stop> stops_;         // by container id
  std::map<std::string, Terminal> terminal_;  // by UID
  // At the API server, by the UID there: pods that ended, all that were no mirrors, those that
  // went.
  std::map<std::string, std::string> served_terminal_;
  std::set<std::string> served_, left_server_;
  // By UID: pods deleted by force of which something still ran, and then nothing any more.
  std::set<std::string> forced_running_, forced_over_;
  EventRates event_rates_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> never_ran_;  // UID and name
  std::map<std::string, Clock::Time> absent_;  // process -> since
  std::vector<Disturbance> disturbances_;
  std::set<std::pair<std::string, std::string>> announced_;
  std::vector<Violation> found_;
};

/// "containerd://0123" -> "0123".
std::string BareId(const std::string& id);

}  // namespace splitlet::chaos
