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
  std::map<std::string, int> done;    // "kill" -> how often; "create", ...
  std::map<std::string, int> failed;  // the same, of what could not be done
  std::map<std::string, Peak> peaks;  // by process
  Duration to_start{0}, to_settle{0}, to_go{0};
  std::set<std::string> runtime_leaks;  // host resources that the runtime has forgotten
  int inspections = 0;
  // From the first fault until the node had settled:
  int blind_to_runtime = 0, blind_to_status = 0;  // inspections without its answer
  Duration longest_gap{0};                        // from the begin of one to that of the next
  Duration latest_step{0};                        // how late the plan was at worst
};

}  // namespace splitlet::chaos
