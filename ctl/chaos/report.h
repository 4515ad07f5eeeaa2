#pragma once

/// The report of a run: JSON for machines, one HTML page without anything from outside for people.
/// Threads: pure functions, any. Errors: none.

#include <string>
#include <vector>

#include "ctl/chaos/engine.h"

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
std::string ReportHtml(const Report& report);
/// For a terminal: what was done, what was found.
std::string ReportText(const Report& report);

/// Rows of processes and pods over time, as SVG.
std::string TimelineSvg(const Timeline& timeline);

/// With the five characters that mean something in HTML written out.
std::string HtmlText(const std::string& text);

}  // namespace splitlet::chaos
