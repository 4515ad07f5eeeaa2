#pragma once

/// Prints a container's log as the API does: lines without what the runtime put before them, parts
/// joined, from the last lines or a time on, and on while the container writes, over rotations.
/// Memory is bounded by the longest line that is taken.
/// Threads: one at a time; it blocks while it follows.
/// Errors: of the file by errno; INVALID_ARGUMENT for a log in no known format; those of the sink.
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
  bool timestamps = false;              // before each line that begins
  std::optional<uint64_t> tail_lines;   // the last physical lines
  std::optional<WallTime> since;        // not what is older; of what `tail_lines` leaves
  std::optional<uint64_t> limit_bytes;  // of what is printed
  Format format = Format::kUnknown;     // kUnknown: found by the first line
};

/// Takes what is printed. An error ends the reading.
using LogSink = std::function<Status(Stream stream, std::string_view bytes)>;

struct LogSource {
  LogFiles& files;
  LogWatch& watch;                     // used only to follow
  std::function<bool()> is_writing;    // follow: the container still runs; asked when it is quiet
  std::function<bool()> is_cancelled;  // the reader has had enough; asked between lines and waits
};

/// A longer physical line is cut.
inline constexpr size_t kMaxLineBytes = 1 << 20;

struct LogResult {
  uint64_t unreadable_lines = 0;  // in the wrong format; left out
  bool cancelled = false;
};
StatusOr<LogResult> ReadLog(const LogSource& source, const std::string& path,
                            const LogOptions& options, const LogSink& sink);

}  // namespace splitlet::logs
