#pragma once

/// The blocking part of log rotation: looks at one container's log and rotates it when it is long
/// enough.
/// Threads: any, one at a time for a container.
/// Errors: of the disk and the runtime; after one the container goes on writing where it wrote.
/// Killed at any line: the next look finishes, since a log without its live file is opened anew
/// first, and halves of compressed files are removed.
/// Source: docs/behaviour/garbage-collection.md, "Logs of running containers".

#include <functional>
#include <string>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/collect/logs/log_plan.h"

namespace splitlet::gc {

/// libs/fs/gzip.h, for files of the same file system as below.
using Compress = std::function<Status(const std::string& from, const std::string& to)>;

struct LogRotatorDeps {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Logs& runtime;
  Compress compress;
};

struct LogLimits {
  uint64_t max_bytes = 10 << 20;
  size_t max_files = 5;  // with the live one; at least 2
  Duration call_limit = std::chrono::minutes{2};
};

struct LogToInspect {
  cri::ContainerId id;
  std::string path;   // of the live file, absolute
  bool tidy = false;  // also when nothing is to be rotated: a start before may have been cut short
};

struct LogState {
  uint64_t bytes = 0;       // that the look found, before it rotated
  bool rotated = false;     // now there are none
  std::string compression;  // why a rotated file stays uncompressed; empty: it does not
};

class LogRotator {
 public:
  LogRotator(LogRotatorDeps deps, LogLimits limits) : deps_(std::move(deps)), limits_(limits) {}
  StatusOr<LogState> Inspect(const LogToInspect& look) const;
  const LogLimits& limits() const { return limits_; }

 private:
  StatusOr<uint64_t> SizeOf(const LogToInspect& look) const;
  StatusOr<LogFiles> List(const LogToInspect& look) const;
  Status RemoveOld(const LogToInspect& look, size_t keep) const;
  Status Rotate(const LogToInspect& look) const;
  Status CompressOld(const LogToInspect& look) const;
  Status CompressOne(const std::string& path) const;

  LogRotatorDeps deps_;
  LogLimits limits_;
};

}  // namespace splitlet::gc
