#pragma once

/// One physical line of a container's log, as a CRI runtime or Docker writes it.
/// Threads: any.
/// Errors: a line that is neither is nullopt.
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
  kRaw,     // each line as it is: no container's
};

struct LogLine {
  WallTime time;
  std::string time_text;  // as written; of the runtime's zone
  Stream stream = Stream::kStdout;
  std::string text;  // ends in a line break, unless the line goes on in the next one
};

/// `line` is without its line break.
std::optional<LogLine> ParseCriLine(std::string_view line);
std::optional<LogLine> ParseDockerLine(std::string_view line);
/// Into `parsed`, whose room is used again; false: it is none. Of kRaw and kUnknown there is none.
bool ParseLine(Format format, std::string_view line, LogLine& parsed);
/// What the first line of a file shows; kUnknown when it fits neither.
Format FormatOf(std::string_view first_line);

/// "2026-01-02T03:04:05.600000000Z": nine digits, the zone as it was. `time_text` is one that
/// ParseTime takes.
std::string FixedTime(std::string_view time_text);

}  // namespace splitlet::logs
