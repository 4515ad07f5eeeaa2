#pragma once

/// The commands of splitlet-chaos: rounds of a scenario with their report, and a flood. Called by
/// main, in the directory of the stack.
/// Threads: the main one; a flood has threads of its own.
/// Errors: printed by main as one line; exit code 1.

#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"

namespace splitlet::chaos {

struct RunOptions {
  std::string scenario, report;  // paths, absolute
  std::optional<uint64_t> seed;
  int repeat = 1;
  double minutes = 0;  // runs rounds for this long; 0: `repeat` rounds
  std::string label;   // label of the tested version in the report, for example a commit
  bool dry_run = false;
};
/// ABORTED when a rule was broken.
Status RunScenario(const operate::Context& context, const RunOptions& options);

/// Floods one process with calls until stopped; the program behind the fault `flood`.
Status RunFlood(const operate::Context& context, const std::string& process);

}  // namespace splitlet::chaos
