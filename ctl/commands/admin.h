#pragma once

/// `gc`, `fault`, `log-level`, `record discard` and `doctor`. Called by main.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

Status Gc(const operate::Context& context, bool dry_run);
struct FaultOptions {
  std::string process, name, term;
  bool no_headers = false;
};
Status ListFaultsCommand(const operate::Context& context, const FaultOptions& options);
Status SetFaultCommand(const operate::Context& context, const FaultOptions& options);
Status ClearFaults(const operate::Context& context, const FaultOptions& options);
/// `words`: [PROCESS] [LEVEL]. Without a level it shows levels: of the process, or of all
/// processes.
Status LogLevelCommand(const operate::Context& context, const std::vector<std::string>& words);
/// NOT_FOUND when every process can read its files of the pod.
Status DiscardRecordCommand(const operate::Context& context, const std::string& uid);
/// FAILED_PRECONDITION when a check fails.
Status Doctor(const operate::Context& context, const std::string& runtime_endpoint);

}  // namespace splitlet::ctl
