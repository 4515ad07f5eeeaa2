#pragma once

/// The report of a run: the results of its rounds, as JSON for programs and as text for a terminal.
/// report_html.h makes a page for people. Called by RunScenario.
/// Threads: pure functions, any.
/// Errors: none.

#include <string>
#include <vector>

#include "chaos/round/outcome.h"

namespace splitlet::chaos {

struct Report {
  std::string scenario, about, file, version, label, command;
  WallTime began;
  Duration length{0};
  std::vector<Outcome> rounds;
};

size_t ViolationsOf(const Report& report);
/// {scenario, version, began, seeds, violations: [...], rounds: [...]}.
std::string ReportJson(const Report& report);
/// For a terminal: counts of steps, and violations.
std::string ReportText(const Report& report);

}  // namespace splitlet::chaos
