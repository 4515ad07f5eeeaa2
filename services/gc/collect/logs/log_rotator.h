#pragma once

/// Inspects the log of one container and rotates the log when it has reached its maximum size.
/// Threads: any; for one container one call at a time. Calls block.
/// Errors: those of the disk and the runtime; the container then goes on writing to the same file.
/// Killed at any line: the next inspection finishes the rotation. It reopens a log without a live
/// file, and removes unfinished compressed files.
/// Source: docs/behaviour/garbage-collection.md, "Logs of running containers".

#include <functional>
#include <string>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/collect/logs/log_plan.h"

namespace splitlet::gc {

/// Compresses `from` to `to`; see libs/fs/gzip.h.
using Compress = std::function<Status(const std::string& from, const std::string& to)>;

struct LogRotatorDeps {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Logs& runtime;
  Compress compress;
};

struct LogLimits {
  uint64_t max_bytes = 10 << 20;
  size_t max_files = 5;  // with the live file; at least 2
  Duration call_limit = std::chrono::minutes{2};
};

struct LogToInspect {
  cri::ContainerId id;
  std::string path;   // absolute path of the live file
  bool tidy = false;  // finish a rotation that an earlier start may have left unfinished
};

struct LogState {
  uint64_t bytes = 0;       // size before the rotation
  bool rotated = false;     // the log was rotated, so its size is 0 now
  std::string compression;  // why a rotated file could not be compressed; empty: it could
};

class LogRotator {
 public:
  LogRotator(LogRotatorDeps deps, LogLimits limits) : deps_(std::move(deps)), limits_(limits) {}
  StatusOr<LogState> Inspect(const LogToInspect& log) const;
  const LogLimits& limits() const { return limits_; }

 private:
  StatusOr<uint64_t> SizeOf(const LogToInspect& log) const;
  StatusOr<LogFiles> List(const LogToInspect& log) const;
  Status RemoveOld(const LogToInspect& log, size_t keep) const;
  Status Rotate(const LogToInspect& log) const;
  Status CompressOld(const LogToInspect& log) const;
  Status CompressOne(const std::string& path) const;

  LogRotatorDeps deps_;
  LogLimits limits_;
};

}  // namespace splitlet::gc
