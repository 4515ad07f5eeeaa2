#pragma once

/// The command line of a process, and values that the configuration file adds. Any thread.
/// Errors: INVALID_ARGUMENT naming the flag.
/// Source: docs/behaviour/configuration.md, "Flags".

#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::daemon {

struct CommandLine {
  Flags flags;
  std::optional<std::string> print;  // --help and --version: print this and leave with 0
  bool log_dir_given = false, log_format_given = false, log_level_given = false;
  bool check_only = false;  // --check-config: read flags, file and environment, then leave
};

StatusOr<CommandLine> ParseCommandLine(const std::string& process, int argc,
                                       const char* const* argv);

/// Flags override the file; afterwards both have the same values.
void Reconcile(CommandLine& line, config::KubeletConfig& config);

/// "0.1.0".
const char* Version();

}  // namespace splitlet::daemon
