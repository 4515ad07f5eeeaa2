#pragma once

/// Prints a container's log as the API does: without the runtime's prefixes, with joined parts,
/// from the last lines or a time on, and following the container's writes over rotations. The
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
  bool timestamps = false;              // before each whole line
  std::optional<uint64_t> tail_lines;   // the last physical lines
  std::optional<WallTime> since;        // skips older lines among those of `tail_lines`
  std::optional<uint64_t> limit_bytes;  // of what is printed
  Format format = Format::kUnknown;     // kUnknown: found by the first line
};

/// Takes the printed bytes. An error ends the reading.
using LogSink = std::function<Status(Stream stream, std::string_view bytes)>;

struct LogSource {
  LogFiles& files;
  LogWatch& watch;  // used only to follow
  std::function<bool()>
      is_writing;  // follow: does the container still run? called when the log is quiet
  std::function<bool()> is_cancelled;  // has the reader left? called between lines and waits
};

/// A longer physical line is cut.
inline constexpr size_t kMaxLineBytes = 1 << 20;

struct LogResult {
  uint64_t unreadable_lines = 0;  // in another format; left out
  bool cancelled = false;
};
StatusOr<LogResult> ReadLog(const LogSource& source, const std::string& path,
                            const LogOptions& options, const LogSink& sink);

}  // namespace splitlet::logs
