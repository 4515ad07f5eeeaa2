#pragma once

/// What the processes say of themselves, and how `get processes` and `get sources` show it.
/// Threads: any. Errors: none.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::v1 {
class ProcessInfo;
class SourceProblem;
class Sources;
}  // namespace splitlet::v1

namespace splitlet::ctl {

struct ProcessView {
  std::string name;
  std::shared_ptr<v1::ProcessInfo> info;  // null: no answer
  std::string problem;                    // why there is no answer
  bool listens = false;                   // without an answer: something has its socket
  uint64_t restarts = 0;                  // without an answer: from its run folder
};

/// Whether `pid` is this process here. One that a container tells is another's outside of it.
bool IsProcess(int32_t pid, const std::string& name);

/// Starts and age, health and why not, bus and views, the last error.
std::string ProcessTable(const std::vector<ProcessView>& processes, WallTime now);
/// A pid of 0 is shown as none.
/// [{name, pid, restarts, healthy, uptimeSeconds, metricsAddress, ...}]
std::string ProcessJson(const std::vector<ProcessView>& processes, WallTime now);

/// Where and why, without saying the place again that the reason begins with.
std::string ReasonOf(const v1::SourceProblem& problem);
std::string SourceTable(const v1::Sources& sources, WallTime now);
std::string SourceJson(const v1::Sources& sources);

}  // namespace splitlet::ctl
