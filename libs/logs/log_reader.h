#pragma once

/// Prints a container's log as the API does: without the runtime's prefixes, with joined parts,
/// from the last lines or a time on. It can follow the container's output across rotations. The
/// longest line bounds its memory.
/// Threads: one at a time; it blocks while it follows.
/// Errors: the file's, by errno; INVALID_ARGUMENT: unknown format; the sink's.
/// Source: docs/behaviour/logs.md, "Reading".

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "libs/logs/log_file.h"
#include "libs/logs/log_line.h"
#include "libs/logs/log_watch.h"

namespace splitlet::logs {

struct LogOptions {
  bool follow = false;
  bool timestamps = false;              // printed before each line
  std::optional<uint64_t> tail_lines;   // prints only the last physical lines
  std::optional<WallTime> since;        // skips older lines among those of `tail_lines`
  std::optional<uint64_t> limit_bytes;  // limit of the printed bytes
  Format format = Format::kUnknown;     // kUnknown: detected by the first line
};

/// Takes the printed bytes. An error ends the reading.
using LogSink = std::function<Status(Stream stream, std::string_view bytes)>;

struct LogSource {
  LogFiles& files;
  LogWatch& watch;  // used only to follow
  std::function<bool()>
      is_writing;  // for follow: does the container still run? Called when the log is quiet
  std::function<bool()> is_cancelled;  // has the reader left? Called between lines and waits
};

/// Longer physical lines are cut.
inline constexpr size_t kMaxLineBytes = 1 << 20;

struct LogResult {
  uint64_t unreadable_lines = 0;  // lines in another format, which are skipped
  bool cancelled = false;
};
StatusOr<LogResult> ReadLog(const LogSource& source, const std::string& path,
                            const LogOptions& options, const LogSink& sink);

}  // namespace splitlet::logs
