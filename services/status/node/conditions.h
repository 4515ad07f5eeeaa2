#pragma once

/// The health of the node: how long each process has not answered, and the conditions that follow.
/// Threads: the owner's.
/// Errors: none.
/// Units: as the names say.
/// Source: docs/safety.md, rule 24; docs/behaviour/node.md, "Conditions".

#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/peers/peer_health.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// Counts only time in which status asked: a pause of its own says nothing of others.
class AnswerLedger {
 public:
  /// `max_gap`: the longest time between two questions that still counts as asking all the time.
  AnswerLedger(const std::map<std::string, Duration>& limits, Duration max_gap);

  void OnGood(const std::string& process, Clock::Time now);
  void OnBad(const std::string& process, Clock::Time now, std::string reason);

  struct Missing {
    std::string process, reason;
    Duration limit{0};  // asked at least that long without one good answer
  };
  /// Those at or above their limit, by name.
  std::vector<Missing> Unanswered() const;
  Duration AskedWithoutAnswer(const std::string& process) const;
  bool EverGood(const std::string& process) const;

 private:
  struct Entry {
    Duration limit{0}, asked{0};
    Clock::Time last;  // of the last question; no time before
    bool ever_good = false;
    std::string reason;
  };
  std::map<std::string, Entry> entries_;
  Duration max_gap_;
};

struct NodeConditionInputs {
  const AnswerLedger& ledger;
  const peers::RuntimeState& runtime;
  const v1::PressureRecord* pressure = nullptr;  // nullptr: gc has not said anything
  std::vector<std::string> missing_capacity;     // names
  const std::vector<v1::NodeCondition>& before;
  WallTime now;
};
/// MemoryPressure, DiskPressure, PIDPressure, Ready. `since` moves only when the status does.
std::vector<v1::NodeCondition> ComputeNodeConditions(const NodeConditionInputs& in);

/// Nothing that pleg said of it keeps the node from being ready.
bool IsRuntimeReady(const peers::RuntimeState& runtime);

/// Reason of the event that tells of this condition: "NodeReady"; empty: none.
std::string ConditionEvent(const v1::NodeCondition& condition);

}  // namespace splitlet::status
