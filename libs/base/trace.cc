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

bool IsTraceparent(std::string_view text) {
  if (text.size() != kSize || !text.starts_with("00-")) return false;
  if (text[kSpanId - 1] != '-' || text[kFlags - 1] != '-') return false;
  return IsId(text.substr(kTraceId, kTraceIdSize)) && IsId(text.substr(kSpanId, kSpanIdSize)) &&
         IsHex(text.substr(kFlags));
}

}  // namespace

std::string Traceparent(std::string_view trace_id, std::string_view span_id, bool sampled) {
  return fmt::format("00-{}-{}-{}", trace_id, span_id, sampled ? "01" : "00");
}

std::string MakeTraceparent(Random& random, bool sampled) {
  const uint64_t high = NotZero(random);
  const uint64_t low = random.Next();
  return Traceparent(fmt::format("{:016x}{:016x}", high, low),
                     fmt::format("{:016x}", NotZero(random)), sampled);
}

std::string TraceIdOf(std::string_view traceparent) {
  if (!IsTraceparent(traceparent)) return "";
  return std::string(traceparent.substr(kTraceId, kTraceIdSize));
}

std::string SpanIdOf(std::string_view traceparent) {
  if (!IsTraceparent(traceparent)) return "";
  return std::string(traceparent.substr(kSpanId, kSpanIdSize));
}

std::string Unsampled(std::string_view traceparent) {
  std::string text(traceparent);
  if (IsTraceparent(text)) text.replace(kFlags, text.size() - kFlags, "00");
  return text;
}

bool IsSampled(std::string_view traceparent) {
  // The lowest bit of the last digit.
  return IsTraceparent(traceparent) &&
         std::string_view("13579bdf").find(traceparent.back()) != std::string_view::npos;
}

}  // namespace splitlet
