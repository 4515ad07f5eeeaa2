#include "libs/config/scalars.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace splitlet::config {
namespace {

struct Unit {
  std::string_view name;
  long double factor;
};

constexpr std::array<Unit, 8> kTimeUnits = {{{"ns", 1},
                                             {"us", 1e3L},
                                             {"\xC2\xB5s", 1e3L},  // micro sign
                                             {"\xCE\xBCs", 1e3L},  // Greek letter mu
                                             {"ms", 1e6L},
                                             {"s", 1e9L},
                                             {"m", 60e9L},
                                             {"h", 3600e9L}}};

constexpr std::array<Unit, 16> kQuantityUnits = {{{"", 1e3L},
                                                  {"n", 1e-6L},
                                                  {"u", 1e-3L},
                                                  {"m", 1},
                                                  {"k", 1e6L},
                                                  {"M", 1e9L},
                                                  {"G", 1e12L},
                                                  {"T", 1e15L},
                                                  {"P", 1e18L},
                                                  {"E", 1e21L},
                                                  {"Ki", 1024e3L},
                                                  {"Mi", 1048576e3L},
                                                  {"Gi", 1073741824e3L},
                                                  {"Ti", 1099511627776e3L},
                                                  {"Pi", 1125899906842624e3L},
                                                  {"Ei", 1152921504606846976e3L}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Length of "12", "12.", ".5" or "1.5" at the front of `text`; 0 without a digit.
size_t DecimalLength(std::string_view text) {
  size_t length = 0, digits = 0;
  bool dot = false;
  for (; length < text.size(); ++length) {
    if (text[length] == '.' && !dot) {
      dot = true;
    } else if (IsDigit(text[length])) {
      ++digits;
    } else {
      break;
    }
  }
  return digits == 0 ? 0 : length;
}

long double ParseDecimal(std::string_view text) {
  long double value = 0, scale = 1;
  bool fraction = false;
  for (const char c : text) {
    if (c == '.') {
      fraction = true;
      continue;
    }
    value = value * 10 + (c - '0');
    if (fraction) scale *= 10;
  }
  return value / scale;
}

bool TakeSign(std::string_view& text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return negative;
}

int64_t Clamp(long double value) {
  constexpr auto kLargest = std::numeric_limits<int64_t>::max();
  if (value >= static_cast<long double>(kLargest)) return kLargest;
  if (value <= -static_cast<long double>(kLargest)) return -kLargest;
  return static_cast<int64_t>(value);
}

/// Factor of the suffix, in thousandths; an exponent ("e3", "E-2") counts as a suffix.
StatusOr<long double> SuffixFactor(std::string_view suffix) {
  for (const Unit& unit : kQuantityUnits)
    if (unit.name == suffix) return unit.factor;
  if (suffix.size() > 1 && (suffix.front() == 'e' || suffix.front() == 'E')) {
    std::string_view digits = suffix.substr(1);
    const bool negative = TakeSign(digits);
    int exponent = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error == std::errc{} && end == digits.data() + digits.size() && exponent >= 0 &&
        exponent < 100)
      return std::pow(10.0L, static_cast<long double>(negative ? -exponent : exponent)) * 1e3L;
  }
  return InvalidArgument("unit {} is not known", suffix);
}

/// A number in thousandths, before rounding.
StatusOr<long double> ReadQuantity(std::string_view text) {
  const std::string_view whole = text;
  const bool negative = TakeSign(text);
  const size_t length = DecimalLength(text);
  if (length == 0 || length > 40) return InvalidArgument("\"{}\" is not a quantity", whole);
  const auto factor = SuffixFactor(text.substr(length));
  if (!factor.ok()) return InvalidArgument("\"{}\" is not a quantity", whole);
  const long double value = ParseDecimal(text.substr(0, length)) * *factor;
  return negative ? -value : value;
}

long double AwayFromZero(long double value) {
  return value < 0 ? std::floor(value) : std::ceil(value);
}

/// Reads one part such as "90m" from the front of `text`.
StatusOr<long double> TakeTimePart(std::string_view& text) {
  const size_t length = DecimalLength(text);
  if (length == 0 || length > 30) return InvalidArgument("a number is missing");
  const long double number = ParseDecimal(text.substr(0, length));
  text.remove_prefix(length);
  size_t end = 0;
  while (end < text.size() && text[end] != '.' && !IsDigit(text[end])) ++end;
  for (const Unit& unit : kTimeUnits) {
    if (unit.name != text.substr(0, end)) continue;
    text.remove_prefix(end);
    return number * unit.factor;
  }
  return InvalidArgument("the unit is missing or unknown");
}

}  // namespace

StatusOr<Duration> ParseGoDuration(std::string_view text) {
  const std::string_view whole = text;
  const bool negative = TakeSign(text);
  if (text == "0") return Duration{0};
  long double sum = 0;
  do {
    const auto part = TakeTimePart(text);
    if (!part.ok()) return InvalidArgument("\"{}\" is not a duration such as 1m30s", whole);
    sum += *part;
  } while (!text.empty());
  if (sum > static_cast<long double>(std::numeric_limits<int64_t>::max()))
    return InvalidArgument("\"{}\" is too long a duration", whole);
  const auto ns = static_cast<int64_t>(sum);
  return Duration{negative ? -ns : ns};
}

StatusOr<int64_t> ParseQuantityMillis(std::string_view text) {
  const auto millis = ReadQuantity(text);
  if (!millis.ok()) return millis.status();
  return Clamp(AwayFromZero(*millis));
}

StatusOr<int64_t> ParseQuantity(std::string_view text) {
  const auto millis = ReadQuantity(text);
  if (!millis.ok()) return millis.status();
  return Clamp(std::ceil(*millis / 1e3L));
}

StatusOr<double> ParsePercent(std::string_view text) {
  const std::string_view number = text.substr(0, text.empty() ? 0 : text.size() - 1);
  if (text.empty() || text.back() != '%' || DecimalLength(number) != number.size() ||
      number.empty() || number.size() > 30)
    return InvalidArgument("\"{}\" is not a percentage", text);
  const auto value = static_cast<double>(ParseDecimal(number));
  if (value > 100) return InvalidArgument("{} is not in 0%..100%", text);
  return value;
}

Status CheckNodeName(std::string_view name) {
  if (name.empty()) return InvalidArgument("empty hostname is invalid");
  if (name.size() > 253) return InvalidArgument("it has {} characters, more than 253", name.size());
  char before = '.';
  for (const char c : name) {
    const bool alphanumeric = IsDigit(c) || (c >= 'a' && c <= 'z');
    if (!alphanumeric && c != '-' && c != '.')
      return InvalidArgument("\"{}\" may hold only a-z, 0-9, - and .", name);
    if (!alphanumeric && before == '.')
      return InvalidArgument("\"{}\" has a label that begins with - or .", name);
    if (c == '.' && before == '-')
      return InvalidArgument("\"{}\" has a label that ends with -", name);
    before = c;
  }
  if (before == '.' || before == '-') return InvalidArgument("\"{}\" ends with - or .", name);
  return OkStatus();
}

}  // namespace splitlet::config
