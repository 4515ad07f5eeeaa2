#pragma once

/// Computes the node's conditions from the health of the processes, the runtime and the pressures.
/// Threads: the owner's.
/// Errors: none.
/// Units: see names.
/// Source: docs/safety.md, rule 24; docs/behaviour/node.md, "Conditions".

#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/peers/peer_health.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// How long each process has been asked for its health without a good answer. A pause in the
/// questions is not counted.
class AnswerLedger {
 public:
  /// `max_gap`: two questions further apart than this are a pause.
  AnswerLedger(const std::map<std::string, Duration>& limits, Duration max_gap);

  void OnGood(const std::string& process, Clock::Time now);
  void OnBad(const std::string& process, Clock::Time now, std::string reason);

  struct Missing {
    std::string process, reason;
    Duration limit{0};  // asked at least that long without one good answer
  };
  /// Processes at or above their limit, ordered by name.
  std::vector<Missing> Unanswered() const;
  Duration AskedWithoutAnswer(const std::string& process) const;

 private:
  struct Entry {
    Duration limit{0}, asked{0};
    Clock::Time last;  // the last question; no time: not asked yet
    std::string reason;
  };
  std::map<std::string, Entry> entries_;
  Duration max_gap_;
};

struct NodeConditionInputs {
  const AnswerLedger& ledger;
  const peers::RuntimeState& runtime;
  const v1::PressureRecord* pressure = nullptr;  // nullptr: gc has not reported yet
  std::vector<std::string> missing_capacity;     // names
  std::string storage_problem;                   // of volumes on this node; empty: none
  const std::vector<v1::NodeCondition>& before;
  WallTime now;
};
/// MemoryPressure, DiskPressure, PIDPressure, Ready. `since` changes only when the status changes.
std::vector<v1::NodeCondition> ComputeNodeConditions(const NodeConditionInputs& in);

/// The runtime and its network, as pleg reports them, do not keep the node from being Ready.
bool IsRuntimeReady(const peers::RuntimeState& runtime);

/// Reason of the event for this condition: "NodeReady"; empty: no event.
std::string ConditionEvent(const v1::NodeCondition& condition);

/// The conditions that get an event now. `recorded`: type -> status when it was last known.
/// A pressure gets an event when its status is first known, true or false, and at each change.
/// Ready gets one at each change only. Unknown is not a change.
std::vector<v1::NodeCondition> ConditionsToRecord(
    const std::map<std::string, std::string>& recorded,
    const std::vector<v1::NodeCondition>& conditions);

}  // namespace splitlet::status
