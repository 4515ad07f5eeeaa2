#pragma once

/// The report of a run as one HTML page that loads nothing else, for people. Called by RunScenario.
/// Threads: pure functions, any.
/// Errors: none.

#include <string>

#include "chaos/report/report.h"

namespace splitlet::chaos {

std::string ReportHtml(const Report& report);

}  // namespace splitlet::chaos
