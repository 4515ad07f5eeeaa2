#pragma once

/// Frees a full disk by truncating the logs of pods that no source has any more.
/// Threads: any; calls block.
/// Errors: those of single files, in the result.
/// Killed at any line: the next inspection truncates the rest.
/// Source: docs/safety.md, rule 28.

#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "services/gc/collect/report.h"
#include "services/gc/config.h"

namespace splitlet::gc {

struct RemovedPod {
  std::string uid;
  std::string log_dir;  // name of the directory
};
/// The name that pod-worker gives a log directory.
std::string LogDirectoryOf(const std::string& name_space, const std::string& name,
                           const std::string& uid);

/// Removes rotated logs and truncates live logs, whose containers keep them open. Returns an item
/// of kind "log" for each file that was not empty.
std::vector<ReportItem> TruncateLogs(fs::FileSystem& files, const std::vector<RemovedPod>& pods,
                                     const GcConfig& config);

}  // namespace splitlet::gc
