#pragma once

/// The report of a run: what its rounds found, as JSON for machines and as text for a terminal; as
/// a page for people see report_html.h. Called by RunScenario.
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
/// For a terminal: what was done, what was found.
std::string ReportText(const Report& report);

}  // namespace splitlet::chaos
