#include "libs/operate/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "libs/base/one_line.h"
#include "libs/kube/json_text.h"

namespace splitlet::operate {
namespace {

using std::chrono::days;
using std::chrono::duration_cast;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

/// Counts characters of UTF-8, not bytes.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line +=
        cells[i] + std::string(i + 1 < cells.size() ? widths[i] - WidthOf(cells[i]) + 3 : 0, ' ');
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string TwoParts(int64_t big, const char* big_unit, int64_t small, const char* small_unit) {
  return small == 0 ? fmt::format("{}{}", big, big_unit)
                    : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
}

}  // namespace

void Table::Add(std::vector<std::string> row) {
  for (std::string& cell : row) {
    std::ranges::replace(cell, '\n', ' ');
    cell = OneLine(cell);
  }
  rows_.push_back(std::move(row));
}

std::string Table::Text(bool with_header) const {
  std::vector<size_t> widths = kept_ == nullptr ? std::vector<size_t>{} : *kept_;
  widths.resize(header_.size(), 0);
  const auto widen = [&widths](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], WidthOf(cells[i]));
  };
  widen(header_);
  std::ranges::for_each(rows_, widen);
  if (kept_ != nullptr) *kept_ = widths;
  std::string text = with_header ? Line(header_, widths) : "";
  for (const auto& row : rows_) text += Line(row, widths);
  return text;
}

std::string HumanDuration(Duration d) {
  const int64_t s = duration_cast<seconds>(d).count();
  const int64_t m = s / 60, h = m / 60, day = h / 24;
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  if (s < 120) return fmt::format("{}s", s);
  if (m < 10) return TwoParts(m, "m", s % 60, "s");
  if (m < 180) return fmt::format("{}m", m);
  if (h < 8) return TwoParts(h, "h", m % 60, "m");
  if (h < 48) return fmt::format("{}h", h);
  if (h < 192) return TwoParts(day, "d", h % 24, "h");
  if (day < 365 * 2) return fmt::format("{}d", day);
  if (day < 365 * 8) return TwoParts(day / 365, "y", day % 365, "d");
  return fmt::format("{}y", day / 365);
}

std::string Age(WallTime now, int64_t from_wall_ns) {
  return from_wall_ns == 0 ? "<unknown>" : HumanDuration(now - WallFromNanos(from_wall_ns));
}

StatusOr<Duration> ParseSince(std::string_view text) {
  const auto bad = [text] {
    return InvalidArgument("\"{}\" is not a duration such as 10m or 1h30m", text);
  };
  std::string_view rest = text;
  Duration sum{0};
  if (rest.empty()) return bad();
  while (!rest.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{} || number < 0 || number > 1'000'000) return bad();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const char unit = rest.empty() ? 's' : rest.front();
    if (unit == 's')
      sum += seconds(number);
    else if (unit == 'm')
      sum += minutes(number);
    else if (unit == 'h')
      sum += hours(number);
    else if (unit == 'd')
      sum += days(number);
    else
      return bad();
    if (!rest.empty()) rest.remove_prefix(1);
  }
  return sum;
}

std::string ClockTime(WallTime at) {
  const int64_t ms =
      std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch().count() % 86'400'000;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     ms % 1000);
}

std::string TimeText(Duration d) {
  return fmt::format("{:g}s", static_cast<double>(d / 1ms) / 1000.0);
}

std::string HumanBytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string Lines(std::string_view text, size_t indent) {
  std::string out;
  while (true) {
    const size_t end = text.find('\n');
    out += OneLine(text.substr(0, end));
    if (end == std::string_view::npos || end + 1 == text.size()) return out;
    text.remove_prefix(end + 1);
    out.append("\n").append(indent, ' ');
  }
}

std::string JsonString(std::string_view text) {
  std::string out;
  kube::AppendJsonString(out, text);
  return out;
}

std::string Indented(std::string_view text, size_t spaces) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += std::string(spaces, ' ');
    out += text.substr(0, end);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace splitlet::operate
