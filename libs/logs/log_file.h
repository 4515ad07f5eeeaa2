#pragma once

/// Log files that another program writes, renames and replaces while they are read.
/// Threads: one at a time.
/// Errors: by errno, the reason only.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::logs {

/// An open file; it stays the same file when its name moves to another.
class LogFile {
 public:
  virtual ~LogFile() = default;
  virtual StatusOr<uint64_t> Size() = 0;
  /// Reads at most `max` bytes from `offset` into `bytes`; empty at the end.
  virtual Status ReadAt(uint64_t offset, size_t max, std::string& bytes) = 0;
  /// True if `path` now names another file; false if it names the same or no file.
  virtual bool IsReplacedAt(const std::string& path) = 0;
};

class LogFiles {
 public:
  virtual ~LogFiles() = default;
  /// INVALID_ARGUMENT: not a regular file.
  virtual StatusOr<std::unique_ptr<LogFile>> Open(const std::string& path) = 0;
};
/// Opens for reading, never waiting for a pipe; each implementation decides about links.
using LogOpener = std::function<StatusOr<fs::Fd>(const std::string& path)>;
/// Follows all links.
StatusOr<fs::Fd> OpenLog(const std::string& path);
std::unique_ptr<LogFiles> MakeLogFiles(LogOpener open = OpenLog);

/// Offset of the last `lines` lines, searched from the end in blocks. An unfinished last line does
/// not count.
StatusOr<uint64_t> FindTail(LogFile& file, uint64_t lines);

}  // namespace splitlet::logs
