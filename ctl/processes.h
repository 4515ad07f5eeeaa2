#pragma once

/// What the processes say of themselves, and how `get processes` and `get sources` show it.
/// Threads: any. Errors: none.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::v1 {
class ProcessInfo;
class Sources;
}  // namespace splitlet::v1

namespace splitlet::ctl {

struct ProcessView {
  std::string name;
  std::shared_ptr<v1::ProcessInfo> info;  // null: no answer
  std::string problem;                    // why there is no answer
  uint64_t restarts = 0;                  // without an answer: from its run folder
};

/// Starts and age, health and why not, bus and views, the last error.
std::string ProcessTable(const std::vector<ProcessView>& processes, WallTime now);
/// [{name, pid, restarts, healthy, uptimeSeconds, metricsAddress, ...}]
std::string ProcessJson(const std::vector<ProcessView>& processes, WallTime now);

std::string SourceTable(const v1::Sources& sources, WallTime now);
std::string SourceJson(const v1::Sources& sources);

}  // namespace splitlet::ctl
