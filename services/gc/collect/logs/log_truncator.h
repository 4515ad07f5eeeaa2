#pragma once

/// What gives way on a full disk: the logs of pods that no source wants any more.
/// Threads: any; calls block.
/// Errors: of single files, in the answer.
/// Killed at any line: the rest goes at the next look.
/// Source: docs/safety.md, rule 28.

#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "services/gc/collect/report.h"
#include "services/gc/config.h"

namespace splitlet::gc {

struct RemovedPod {
  std::string uid;
  std::string log_dir;  // its name
};
/// As pod-worker names it.
std::string LogDirectoryOf(const std::string& name_space, const std::string& name,
                           const std::string& uid);

/// Removes rotated logs and empties the others, of which their containers keep names and records.
/// An item for each file that took room; kind "log".
std::vector<ReportItem> TruncateLogs(fs::FileSystem& files, const std::vector<RemovedPod>& pods,
                                     const GcConfig& config);

}  // namespace splitlet::gc
