#pragma once

/// Text for people, safe on a terminal: tables with aligned columns, ages in kubectl's form, JSON
/// strings.
/// Threads: any.
/// Errors: none.

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::operate {

/// Columns as wide as their widest cell, three spaces between them, no spaces at the ends of lines.
/// Line breaks in cells become spaces, and control characters are escaped (OneLine).
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  std::string Text(bool with_header = true) const;
  /// Columns are at least as wide as `widths`, which then gets the new widths, so that tables
  /// printed in sequence line up.
  void KeepWidths(std::vector<size_t>* widths) { kept_ = widths; }

 private:
  std::vector<size_t>* kept_ = nullptr;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// "45s", "3m20s", "5h", "2d4h", "3y": as kubectl shows ages.
std::string HumanDuration(Duration d);
/// Time since `from`; "<unknown>" without a time.
std::string Age(WallTime now, int64_t from_wall_ns);

/// "10m", "1h30m", "45s", "2d" or a bare number of seconds.
StatusOr<Duration> ParseSince(std::string_view text);

/// "12:34:56.789", in UTC.
std::string ClockTime(WallTime at);

/// "1.5s", "0.25s".
std::string TimeText(Duration d);

/// "1.5 MiB", "312 B".
std::string HumanBytes(uint64_t bytes);

/// Escapes outside text for a terminal (OneLine), but keeps its line breaks; further lines begin at
/// column `indent`.
std::string Lines(std::string_view text, size_t indent);

std::string JsonString(std::string_view text);

/// Indents each line of `text` by `spaces`.
std::string Indented(std::string_view text, size_t spaces);

}  // namespace splitlet::operate
