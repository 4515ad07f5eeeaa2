#pragma once

/// A round of a scenario on a node: starts the pods, carries out the plan, ends all faults, waits
/// until the node settles, removes the pods and checks that nothing is left. Called by RunScenario.
/// Threads: one.
/// Errors: a node that refuses to start the pods; a broken rule is in the outcome. In every case it
/// ends the faults and removes the pods before it returns.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "chaos/round/checker.h"
#include "chaos/round/interrupted_calls.h"
#include "chaos/round/outcome.h"
#include "chaos/rules/violation.h"
#include "chaos/scenario/plan.h"

namespace splitlet::chaos {

/// Waits for this long; a fake advances its clock.
class Pacer {
 public:
  virtual ~Pacer() = default;
  virtual void Wait(Duration duration) = 0;
};

struct EngineDeps {
  Node& node;
  const Clock& clock;
  Pacer& pacer;
  std::function<bool()> stopped;                     // true ends the round early
  std::function<void(const std::string&)> progress;  // prints one line; may be empty
};

/// An error for the first step of the plan that cannot be done on this node.
Status CheckPlan(const Scenario& scenario, const Plan& plan, Node& node);

class Engine {
 public:
  Engine(const EngineDeps& deps, const Scenario& scenario, uint64_t seed);
  StatusOr<Outcome> Run();

 private:
  struct Active {
    Action action;
    int count = 0;
  };

  Status StartPods();
  void CarryOut();
  void Do(const Step& step);
  void Put(const Step& step);
  void Remove(const std::string& name);
  void Begin(const Action& action);
  void End(const Action& action);
  void EndAll();
  /// Inspects until `problems` has been empty for kCalm. Problems left at the time limit become
  /// violations.
  Duration Settle(const std::string& what, const std::function<std::vector<Violation>()>& problems);
  void TearDown();
  void CheckLeaks();
  std::set<std::string> Leftovers();
  void Inspect();
  void MeasureInspection(const Snapshot& now, Duration began);
  void Record(const Snapshot& now);
  void RecordProcesses(const Snapshot& now);
  void RecordContainers(const Snapshot& now);
  void AddViolations(std::vector<Violation> found);
  void Note(const std::string& who, std::string text);
  using Line = std::pair<WallTime, std::string>;
  std::vector<Line> LinesAround(const Violation& violation, const std::vector<BusLine>& bus) const;
  void AddAround();
  Duration Elapsed() const { return deps_.clock.Now() - began_; }
  bool Stopped() const { return deps_.stopped && deps_.stopped(); }
  void Progress(const std::string& line) const {
    if (deps_.progress) deps_.progress(line);
  }

  EngineDeps deps_;
  const Scenario& scenario_;
  Plan plan_;
  Checker checker_;
  Outcome outcome_;
  Clock::Time began_;
  Snapshot last_;
  // Since the start of the round: when the last inspection began, and when the next is due.
  Duration inspected_at_{0}, inspection_due_{0};
  bool watches_ = false;          // from the first fault until the node has settled
  std::set<std::string> before_;  // host resources before the round
  InterruptedCalls interrupted_calls_;
  std::map<std::string, Active> active_;     // active faults by KeyOf
  std::map<std::string, int> versions_;      // pod -> version last created
  std::set<std::string> present_;            // pods
  std::map<std::string, size_t> open_bars_;  // key of an open bar -> index of the bar
  std::map<std::string, pid_t> pids_;
};

}  // namespace splitlet::chaos
