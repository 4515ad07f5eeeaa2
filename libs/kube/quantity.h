#pragma once

/// Amounts as Kubernetes writes them ("500m", "1.5Gi", "1e3"), in whole billionths. Values.
/// Errors: INVALID_ARGUMENT from Parse, the reason only.
/// Units: the text's. Finer amounts are rounded away from zero; larger ones become 2^63-1.
/// Source: Kubernetes API conventions, quantities.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::kube {

class Quantity {
 public:
  /// Form of the text: "12k", "12Ki" or "12e3".
  enum class Format { kDecimal, kBinary, kExponent };

  Quantity() = default;
  static StatusOr<Quantity> Parse(std::string_view text);
  /// True only for a text that ToString would return unchanged; false is inconclusive. Cheap.
  static bool IsSurelyCanonical(std::string_view text);
  static Quantity FromInt(int64_t value, Format format = Format::kDecimal);
  static Quantity FromMilli(int64_t milli, Format format = Format::kDecimal);

  /// The canonical text for this value and format: "1000m" becomes "1", "1024Mi" becomes "1Gi".
  std::string ToString() const;

  /// Rounds away from zero.
  int64_t Value() const;
  int64_t MilliValue() const;
  bool IsZero() const { return nano_ == 0; }
  bool IsNegative() const { return nano_ < 0; }
  bool IsInteger() const;
  Format format() const { return format_; }
  Quantity RoundedUpToMilli() const;

  /// Saturates. A sum that starts from zero gets the format of the first summand.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  std::strong_ordering operator<=>(const Quantity& other) const { return nano_ <=> other.nano_; }
  bool operator==(const Quantity& other) const { return nano_ == other.nano_; }

  /// True for a whole multiple of `unit`, which must not be zero.
  bool IsMultipleOf(const Quantity& unit) const { return nano_ % unit.nano_ == 0; }

 private:
  __extension__ using Int128 = __int128;
  static Int128 Clamp(Int128 nano);
  std::string FormatDecimal(bool exponent) const;

  Int128 nano_ = 0;
  Format format_ = Format::kDecimal;
};

}  // namespace splitlet::kube
