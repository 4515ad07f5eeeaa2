#include "libs/kube/time_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "libs/base/text.h"

namespace splitlet::kube {
namespace {

using std::chrono::sys_days;

/// Reads `count` digits from the front of `text`; -1 if there are fewer.
int TakeDigits(std::string_view& text, size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool TakeChar(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

Status NotATime(std::string_view text) {
  return InvalidArgument("\"{}\" is not a time like 2006-01-02T15:04:05Z", ToText(text, 40));
}

/// Reads "2026-01-02" from the front; returns days since the epoch.
bool TakeDate(std::string_view& text, sys_days& days) {
  const int year = TakeDigits(text, 4);
  if (year < 0 || !TakeChar(text, '-')) return false;
  const int month = TakeDigits(text, 2);
  if (month < 0 || !TakeChar(text, '-')) return false;
  const int day = TakeDigits(text, 2);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (day < 0 || !date.ok()) return false;
  days = sys_days{date};
  return true;
}

/// Reads "15:04:05" from the front; returns seconds, or -1.
int TakeClock(std::string_view& text) {
  const int hour = TakeDigits(text, 2);
  if (hour < 0 || hour > 23 || !TakeChar(text, ':')) return -1;
  const int minute = TakeDigits(text, 2);
  if (minute < 0 || minute > 59 || !TakeChar(text, ':')) return -1;
  const int second = TakeDigits(text, 2);
  if (second < 0 || second > 59) return -1;
  return hour * 3600 + minute * 60 + second;
}

bool TakeFraction(std::string_view& text, int32_t& nanos) {
  if (!TakeChar(text, '.')) return true;
  size_t digits = 0;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; ++digits, text.remove_prefix(1))
    if (digits < 9) nanos = nanos * 10 + (text[0] - '0');
  for (size_t i = digits; i < 9; ++i) nanos *= 10;
  return digits > 0;
}

/// Reads "Z" or "+01:00"; gives seconds east of UTC, or returns false.
bool TakeZone(std::string_view& text, int& offset) {
  if (TakeChar(text, 'Z')) return true;
  const bool west = !text.empty() && text[0] == '-';
  if (!west && (text.empty() || text[0] != '+')) return false;
  text.remove_prefix(1);
  const int hours = TakeDigits(text, 2);
  if (hours < 0 || hours > 23 || !TakeChar(text, ':')) return false;
  const int minutes = TakeDigits(text, 2);
  if (minutes < 0 || minutes > 59) return false;
  offset = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
  return true;
}

struct DurationUnit {
  std::string_view text;
  int64_t nanoseconds;
};
// A unit that begins with another unit comes first.
constexpr std::array<DurationUnit, 8> kDurationUnits{{{"ns", 1},
                                                      {"us", 1'000},
                                                      {"µs", 1'000},
                                                      {"μs", 1'000},
                                                      {"ms", 1'000'000},
                                                      {"s", 1'000'000'000},
                                                      {"m", 60'000'000'000},
                                                      {"h", 3'600'000'000'000}}};

__extension__ using Int128 = __int128;
constexpr Int128 kMaxDuration = std::numeric_limits<int64_t>::max();

/// Reads one part such as "1.5h" from the front, in nanoseconds; -1 if there is none.
Int128 TakeDurationPart(std::string_view& text) {
  Int128 whole = 0, fraction = 0, scale = 1;
  size_t digits = 0;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; ++digits, text.remove_prefix(1)) {
    whole = whole * 10 + (text[0] - '0');
    if (whole > kMaxDuration) return -1;
  }
  if (TakeChar(text, '.')) {
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; ++digits, text.remove_prefix(1)) {
      if (scale >= 1'000'000'000'000'000) continue;
      fraction = fraction * 10 + (text[0] - '0');
      scale *= 10;
    }
  }
  if (digits == 0) return -1;
  for (const auto& unit : kDurationUnits) {
    if (text.substr(0, unit.text.size()) != unit.text) continue;
    text.remove_prefix(unit.text.size());
    return whole * unit.nanoseconds + fraction * unit.nanoseconds / scale;
  }
  return -1;
}

/// Formats 1500 thousandths as "1.5", without trailing zeros.
std::string WithFraction(uint64_t value, uint64_t unit) {
  std::string text = std::to_string(value / unit);
  std::string rest = std::to_string(value % unit + unit).substr(1);
  rest.erase(rest.find_last_not_of('0') + 1);
  return rest.empty() ? text : text + "." + rest;
}

int Base64Value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

StatusOr<TimeParts> ParseTime(std::string_view text) {
  const std::string_view all = text;
  sys_days days;
  if (!TakeDate(text, days)) return NotATime(all);
  if (!TakeChar(text, 'T') && !TakeChar(text, 't')) return NotATime(all);
  const int clock = TakeClock(text);
  TimeParts time;
  int offset = 0;
  if (clock < 0 || !TakeFraction(text, time.nanos) || !TakeZone(text, offset) || !text.empty())
    return NotATime(all);
  time.seconds = int64_t{days.time_since_epoch().count()} * 86400 + clock - offset;
  return time;
}

std::string FormatTime(TimeParts time, int digits) {
  constexpr int64_t kYearZero = -62'167'219'200, kYear9999End = 253'402'300'799;
  const int64_t seconds = std::clamp(time.seconds, kYearZero, kYear9999End);
  int64_t day = seconds / 86400, second = seconds % 86400;
  if (second < 0) {
    second += 86400;
    --day;
  }
  const std::chrono::year_month_day date{sys_days{std::chrono::days{day}}};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  second / 3600, second / 60 % 60, second % 60);
  if (digits == 6) text += fmt::format(".{:06}", std::clamp(time.nanos, 0, 999'999'999) / 1000);
  return text + "Z";
}

StatusOr<int64_t> ParseDuration(std::string_view text) {
  const std::string_view all = text;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (text == "0") return 0;
  Int128 sum = 0;
  do {
    const Int128 part = TakeDurationPart(text);
    if (part < 0 || sum + part > kMaxDuration)
      return InvalidArgument("\"{}\" is not a duration like 1m30s", ToText(all, 40));
    sum += part;
  } while (!text.empty());
  return static_cast<int64_t>(negative ? -sum : sum);
}

std::string FormatDuration(int64_t nanoseconds) {
  if (nanoseconds == 0) return "0s";
  const bool negative = nanoseconds < 0;
  const auto value = negative ? uint64_t{0} - static_cast<uint64_t>(nanoseconds)
                              : static_cast<uint64_t>(nanoseconds);
  std::string text;
  constexpr uint64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;
  if (value < 1'000) {
    text = std::to_string(value) + "ns";
  } else if (value < 1'000'000) {
    text = WithFraction(value, 1'000) + "µs";
  } else if (value < kSecond) {
    text = WithFraction(value, 1'000'000) + "ms";
  } else {
    const uint64_t minutes = value / kMinute;
    if (minutes >= 60) text = std::to_string(minutes / 60) + "h";
    if (minutes > 0) text += std::to_string(minutes % 60) + "m";
    text += WithFraction(value % kMinute, kSecond) + "s";
  }
  return negative ? "-" + text : text;
}

StatusOr<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  size_t taken = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const int value = c == '=' ? 0 : Base64Value(c);
    if (value < 0 || (padding > 0 && c != '=')) return InvalidArgument("is not base64");
    padding += c == '=' ? 1U : 0U;
    bits = bits << 6U | static_cast<uint32_t>(value);
    if (++taken % 4 != 0) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(bits >> shift & 0xFFU);
    bits = 0;
  }
  if (taken % 4 != 0 || padding > 2) return InvalidArgument("is not base64");
  bytes.resize(bytes.size() - padding);
  return bytes;
}

std::string EncodeBase64(std::string_view bytes) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < left ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (size_t i = 0; i < 4; ++i) text += i <= left ? kAlphabet[bits >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

}  // namespace splitlet::kube
