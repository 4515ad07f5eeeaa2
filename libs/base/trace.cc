#include "libs/base/trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace splitlet {

namespace {

constexpr size_t kTraceId = 3, kTraceIdSize = 32;
constexpr size_t kSpanId = 36, kSpanIdSize = 16;
constexpr size_t kFlags = 53, kSize = 55;

bool IsHex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

uint64_t NotZero(Random& random) {
  uint64_t number = 0;
  while (number == 0) number = random.Next();
  return number;
}

}  // namespace

std::string MakeTraceparent(Random& random) {
  const uint64_t high = NotZero(random);
  const uint64_t low = random.Next();
  return fmt::format("00-{:016x}{:016x}-{:016x}-01", high, low, NotZero(random));
}

std::string TraceIdOf(std::string_view traceparent) {
  if (traceparent.size() != kSize || !traceparent.starts_with("00-")) return "";
  if (traceparent[kSpanId - 1] != '-' || traceparent[kFlags - 1] != '-') return "";
  const std::string_view id = traceparent.substr(kTraceId, kTraceIdSize);
  if (!IsId(id) || !IsId(traceparent.substr(kSpanId, kSpanIdSize))) return "";
  return IsHex(traceparent.substr(kFlags)) ? std::string(id) : "";
}

}  // namespace splitlet
