#pragma once

/// `logs`: the output of a container, or of a process of splitlet.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1. Errors about containers use a kubelet's words.
/// Source: docs/behaviour/logs.md.

#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/logs/log_reader.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

struct LogsOptions {
  std::string pod, container, name_space;
  std::string process;  // a process of splitlet instead of a pod
  std::string since, since_time;
  int64_t tail = -1;         // -1: all
  int64_t limit_bytes = -1;  // -1: all
  bool follow = false, previous = false, timestamps = false;
};
Status Logs(const operate::Context& context, const LogsOptions& options);

/// INVALID_ARGUMENT for flags that exclude each other, and for malformed values.
StatusOr<logs::LogOptions> ParseLogOptions(const LogsOptions& options, WallTime now);
/// A path of this machine for a pod's log; `path`: the runtime's.
std::string PodLogPath(const operate::Layout& layout, const std::string& path);
/// The log file of a process; FAILED_PRECONDITION with the command to use if there is none.
StatusOr<std::string> ProcessLogPath(const operate::Layout& layout, const std::string& process);

}  // namespace splitlet::ctl
