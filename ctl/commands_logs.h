#pragma once

/// `logs`: what a container, or a process of splitlet, has written.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1. Those about containers have a kubelet's words.
/// Source: docs/behaviour/logs.md.

#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/logs/log_reader.h"
#include "libs/operate/command_line.h"

namespace splitlet::ctl {

struct LogsOptions {
  std::string pod, container, name_space;
  std::string process;  // instead of a pod
  std::string since, since_time;
  int64_t tail = -1;         // -1: all
  int64_t limit_bytes = -1;  // -1: all
  bool follow = false, previous = false, timestamps = false;
};
Status Logs(const operate::Context& context, const LogsOptions& options);

/// INVALID_ARGUMENT for words that do not go together, or are none.
StatusOr<logs::LogOptions> ParseLogOptions(const LogsOptions& options, WallTime now);
/// Where a pod's log is on this machine: `path` is what the runtime was told.
std::string PodLogPath(const operate::Layout& layout, const std::string& path);
/// The file of a process, or where else its log is.
StatusOr<std::string> ProcessLogPath(const operate::Layout& layout, const std::string& process);

}  // namespace splitlet::ctl
