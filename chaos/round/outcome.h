#pragma once

/// The outcome of a round. Made by Engine, shown in the report.
/// Threads: values.
/// Errors: none.
/// Units: durations from the start of the round.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "chaos/rules/violation.h"
#include "libs/base/clock.h"
#include "libs/operate/timeline.h"

namespace splitlet::chaos {

struct Peak {
  uint64_t memory_bytes = 0;
  int descriptors = 0, starts = 0;
};

struct Outcome {
  uint64_t seed = 0;
  bool interrupted = false;
  std::vector<Violation> violations;
  operate::Timeline timeline;
  std::map<std::string, int> done;    // kind of step ("kill", "create", ...) -> number carried out
  std::map<std::string, int> failed;  // the same for steps that failed
  std::map<std::string, Peak> peaks;  // peak use by process
  Duration to_start{0}, to_settle{0}, to_go{0};
  std::set<std::string> runtime_leaks;  // host resources of containers that the runtime has
                                        // forgotten
  int inspections = 0;
  // From the first fault until the node had settled:
  int blind_to_runtime = 0, blind_to_status = 0;  // inspections that the runtime (or status) did
                                                  // not answer
  Duration longest_gap{0};                        // longest time from one inspection to the next
  Duration latest_step{0};                        // worst delay of a step of the plan
};

}  // namespace splitlet::chaos
