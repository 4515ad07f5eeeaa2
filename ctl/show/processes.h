#pragma once

/// Reports of the processes about themselves, as `get processes` and `get sources` show them.
/// Threads: any.
/// Errors: none.

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/operate/process_view.h"

namespace splitlet::v1 {
class SourceProblem;
class Sources;
}  // namespace splitlet::v1

namespace splitlet::ctl {

/// "config-source, sync-loop, ...": all processes that a node can have.
std::string ListOfProcesses();

/// Restarts and age, health with the reason, bus and views, the last error.
std::string ProcessTable(const std::vector<operate::ProcessView>& processes, WallTime now);
/// A pid of 0 is shown as none.
/// [{name, pid, restarts, healthy, uptimeSeconds, metricsAddress, ...}]
std::string ProcessJson(const std::vector<operate::ProcessView>& processes, WallTime now);

/// The reason of a problem, without a leading path.
std::string ReasonOf(const v1::SourceProblem& problem);
std::string SourceTable(const v1::Sources& sources, WallTime now);
std::string SourceJson(const v1::Sources& sources);

}  // namespace splitlet::ctl
