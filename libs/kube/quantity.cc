#include "libs/kube/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "libs/base/text.h"
#include "libs/kube/letters.h"

namespace splitlet::kube {
namespace {

__extension__ using Int128 = __int128;

constexpr Int128 kNano = 1'000'000'000;
constexpr Int128 kMicroOfNano = 1'000'000;  // a micro-unit, in billionths
constexpr int64_t kMaxValue = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxText = 4096;

struct Suffix {
  std::string_view text;
  int decimal_exponent;
  int binary_exponent;
};
constexpr std::array<Suffix, 16> kSuffixes{{{"n", -9, 0},
                                            {"u", -6, 0},
                                            {"m", -3, 0},
                                            {"", 0, 0},
                                            {"k", 3, 0},
                                            {"M", 6, 0},
                                            {"G", 9, 0},
                                            {"T", 12, 0},
                                            {"P", 15, 0},
                                            {"E", 18, 0},
                                            {"Ki", 0, 10},
                                            {"Mi", 0, 20},
                                            {"Gi", 0, 30},
                                            {"Ti", 0, 40},
                                            {"Pi", 0, 50},
                                            {"Ei", 0, 60}}};

/// Digits before and after the point, and their multiplier.
struct Parts {
  bool negative = false;
  std::string whole, fraction;
  int decimal_exponent = 0;
  int binary_exponent = 0;
  Quantity::Format format = Quantity::Format::kDecimal;
};

Status ParseSuffix(std::string_view suffix, Parts& parts) {
  const auto* known = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                   [&](const Suffix& s) { return s.text == suffix; });
  if (known != kSuffixes.end()) {
    parts.decimal_exponent = known->decimal_exponent;
    parts.binary_exponent = known->binary_exponent;
    if (known->binary_exponent != 0) parts.format = Quantity::Format::kBinary;
    return OkStatus();
  }
  const bool exponent = suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E');
  if (!exponent) return InvalidArgument("\"{}\" is not a unit of quantities", suffix);
  std::string_view digits = suffix.substr(1);
  if (digits[0] == '+') {
    digits.remove_prefix(1);
    if (digits.starts_with('-')) digits = {};  // from_chars would take a second minus for the sign
  }
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > 1000 || value < -1000)
    return InvalidArgument("\"{}\" is not an exponent of quantities", suffix);
  parts.decimal_exponent = value;
  parts.format = Quantity::Format::kExponent;
  return OkStatus();
}

StatusOr<Parts> Split(std::string_view text) {
  if (text.empty()) return InvalidArgument("expected a quantity, found nothing");
  if (text.size() > kMaxText) return InvalidArgument("a quantity of {} characters", text.size());
  Parts parts;
  size_t at = 0;
  if (text[0] == '+' || text[0] == '-') {
    parts.negative = text[0] == '-';
    at = 1;
  }
  while (at < text.size() && IsDigit(text[at])) parts.whole += text[at++];
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && IsDigit(text[at])) parts.fraction += text[at++];
  }
  if (parts.whole.empty() && parts.fraction.empty())
    return InvalidArgument("\"{}\" is not a quantity", ToText(text, 40));
  RETURN_IF_ERROR(ParseSuffix(text.substr(at), parts), "\"{}\" is not a quantity",
                  ToText(text, 40));
  return parts;
}

/// Shifts the decimal point, so that only the power of two is left.
void ApplyDecimalExponent(Parts& parts) {
  for (; parts.decimal_exponent > 0; --parts.decimal_exponent) {
    parts.whole += parts.fraction.empty() ? '0' : parts.fraction.front();
    if (!parts.fraction.empty()) parts.fraction.erase(0, 1);
  }
  if (parts.decimal_exponent == 0) return;
  const auto places = static_cast<size_t>(-parts.decimal_exponent);
  if (parts.whole.size() < places) parts.whole.insert(0, places - parts.whole.size(), '0');
  parts.fraction.insert(0, parts.whole.substr(parts.whole.size() - places));
  parts.whole.erase(parts.whole.size() - places);
  parts.decimal_exponent = 0;
}

/// The absolute value in billionths, rounded up; at most that of kMaxValue.
Int128 ToNano(const Parts& parts) {
  const Int128 factor = Int128{1} << parts.binary_exponent;
  Int128 whole = 0;
  for (const char c : parts.whole) {
    whole = whole * 10 + (c - '0');
    if (whole * factor > kMaxValue) return Int128{kMaxValue} * kNano;
  }
  constexpr size_t kKept = 18;
  Int128 fraction = 0;
  for (size_t i = 0; i < kKept; ++i)
    fraction = fraction * 10 + (i < parts.fraction.size() ? parts.fraction[i] - '0' : 0);
  const bool rest = parts.fraction.size() > kKept &&
                    parts.fraction.find_first_not_of('0', kKept) != std::string::npos;
  const Int128 scaled = fraction * factor;  // below 10^18 * 2^60
  Int128 nano = whole * factor * kNano + scaled / kNano;
  if (scaled % kNano != 0 || rest) ++nano;
  return std::min(nano, Int128{kMaxValue} * kNano);
}

Int128 DivideAwayFromZero(Int128 value, Int128 by) {
  const Int128 quotient = value / by;
  if (value % by == 0) return quotient;
  return value < 0 ? quotient - 1 : quotient + 1;
}

int64_t Saturate(Int128 value) {
  if (value > kMaxValue) return kMaxValue;
  if (value < -Int128{kMaxValue}) return -kMaxValue;
  return static_cast<int64_t>(value);
}

std::string Digits(Int128 value) {
  const bool negative = value < 0;
  if (negative) value = -value;
  std::string reversed;
  do {
    reversed += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  if (negative) reversed += '-';
  return {reversed.rbegin(), reversed.rend()};
}

}  // namespace

Int128 Quantity::Clamp(Int128 nano) {
  constexpr Int128 kLimit = Int128{kMaxValue} * kNano;
  return std::clamp(nano, -kLimit, kLimit);
}

StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  auto parts = Split(text);
  if (!parts.ok()) return parts.status();
  ApplyDecimalExponent(*parts);
  Quantity quantity;
  quantity.nano_ = ToNano(*parts);
  if (parts->negative) quantity.nano_ = -quantity.nano_;
  quantity.format_ = parts->format;
  return quantity;
}

bool Quantity::IsSurelyCanonical(std::string_view text) {
  constexpr size_t kMaxDigits = 9;  // no overflow with any unit
  uint64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && IsDigit(text[digits]); ++digits) {
    if (digits == kMaxDigits) return false;
    value = value * 10 + static_cast<uint64_t>(text[digits] - '0');
  }
  if (digits == 0 || text[0] == '0') return false;
  const std::string_view unit = text.substr(digits);
  if (unit.empty() || unit == "m" || unit == "k" || unit == "M" || unit == "G")
    return value % 1000 != 0;
  return (unit == "Ki" || unit == "Mi" || unit == "Gi") && value % 1024 != 0;
}

Quantity Quantity::FromInt(int64_t value, Format format) {
  Quantity quantity;
  quantity.nano_ = Clamp(Int128{value} * kNano);
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::FromMilli(int64_t milli, Format format) {
  Quantity quantity;
  quantity.nano_ = Int128{milli} * kMicroOfNano;
  quantity.format_ = format;
  return quantity;
}

std::string Quantity::FormatDecimal(bool exponent) const {
  Int128 mantissa = nano_;
  int power = -9;
  while (mantissa % 10 == 0) {
    mantissa /= 10;
    ++power;
  }
  for (; power % 3 != 0; --power) mantissa *= 10;
  std::string text = Digits(mantissa);
  if (exponent) return power == 0 ? text : fmt::format("{}e{}", text, power);
  // The value is at most 2^63-1, so no power above 18 can be left.
  const auto* suffix = std::find_if(kSuffixes.begin(), kSuffixes.end(), [&](const Suffix& s) {
    return s.binary_exponent == 0 && s.decimal_exponent == power;
  });
  return text.append(suffix->text);
}

std::string Quantity::ToString() const {
  if (nano_ == 0) return "0";
  const bool small = nano_ > -1024 * kNano && nano_ < 1024 * kNano;
  if (format_ == Format::kExponent) return FormatDecimal(true);
  if (format_ == Format::kDecimal || small || !IsInteger()) return FormatDecimal(false);
  Int128 mantissa = nano_ / kNano;
  int power = 0;
  while (mantissa % 1024 == 0 && power < 60) {
    mantissa /= 1024;
    power += 10;
  }
  const auto* suffix = std::find_if(kSuffixes.begin(), kSuffixes.end(), [&](const Suffix& s) {
    return s.binary_exponent == power && s.decimal_exponent == 0;
  });
  return Digits(mantissa).append(suffix->text);
}

int64_t Quantity::Value() const { return Saturate(DivideAwayFromZero(nano_, kNano)); }

int64_t Quantity::MilliValue() const { return Saturate(DivideAwayFromZero(nano_, kMicroOfNano)); }

bool Quantity::IsInteger() const { return nano_ % kNano == 0; }

Quantity Quantity::RoundedUpToMilli() const {
  Quantity rounded = *this;
  rounded.nano_ = Clamp(DivideAwayFromZero(nano_, kMicroOfNano) * kMicroOfNano);
  return rounded;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nano_ == 0) format_ = other.format_;
  nano_ = Clamp(nano_ + other.nano_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (nano_ == 0) format_ = other.format_;
  nano_ = Clamp(nano_ - other.nano_);
  return *this;
}

}  // namespace splitlet::kube
