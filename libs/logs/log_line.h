#pragma once

/// A physical line of a container's log, in the form of a CRI runtime or of Docker.
/// Threads: any.
/// Errors: nullopt: the line has neither form.
/// Source: CRI v1; docs/behaviour/logs.md, "Format".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libs/base/clock.h"

namespace splitlet::logs {

enum class Stream { kStdout, kStderr };

enum class Format {
  kUnknown,
  kCri,     // "2026-01-02T03:04:05.6Z stdout F text"
  kDocker,  // {"log":"text\n","stream":"stdout","time":"2026-01-02T03:04:05.6Z"}
  kRaw,     // each line unchanged: not a container's log
};

/// Points into the parsed line, or into the parser.
struct LogLine {
  WallTime time;
  std::string_view time_text;  // as written, in the runtime's time zone
  Stream stream = Stream::kStdout;
  std::string_view text;
  bool ends = false;  // true: a line break follows; false: the next line continues the text
};

/// Parses the lines of one log. A result is valid until the next call. `line` must have no line
/// break.
class LineParser {
 public:
  std::optional<LogLine> Cri(std::string_view line);
  std::optional<LogLine> Docker(std::string_view line);
  /// nullopt for kRaw and kUnknown.
  std::optional<LogLine> Parse(Format format, std::string_view line);

 private:
  /// False: malformed, or out of the range of nanoseconds since the epoch.
  bool SetTime(std::string_view text, LogLine& line);
  /// Reuses the last time for a time that equals it up to the fraction, because many lines share a
  /// second.
  std::optional<WallTime> InLastSecond(std::string_view text) const;

  std::string decoded_;      // decoded text of Docker's format
  std::string last_second_;  // last second, in UTC: "2026-01-02T03:04:05"; empty: none yet
  int64_t last_seconds_ = 0;
};

/// Detects the format of a file by its first line; kUnknown: neither.
Format FormatOf(std::string_view first_line);

/// Formats "2026-01-02T03:04:05.600000000Z": nine digits, same zone. `time_text` must be valid for
/// ParseTime.
std::string FixedTime(std::string_view time_text);

}  // namespace splitlet::logs
