#include "services/gc/protect/shutdown/shutdown_times.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "libs/kube/time_text.h"

namespace splitlet::gc {
namespace {

constexpr std::string_view kNoTime = "0001-01-01T00:00:00Z";

std::string TextOf(const std::optional<WallTime>& time) {
  return time ? FormatRfc3339Micro(*time) : std::string(kNoTime);
}

/// The time after `"name":`; neither a kubelet nor gc writes escapes here.
StatusOr<std::optional<WallTime>> TimeIn(const std::string& text, std::string_view name) {
  const std::string key = fmt::format("\"{}\"", name);
  const size_t at = text.find(key);
  const size_t begin = at == std::string::npos ? at : text.find('"', at + key.size());
  const size_t end = begin == std::string::npos ? begin : text.find('"', begin + 1);
  if (end == std::string::npos) return DataLoss("{} is missing", name);
  const auto parts = kube::ParseTime(text.substr(begin + 1, end - begin - 1));
  if (!parts.ok()) return DataLoss("{}: {}", name, Message(parts.status()));
  if (parts->seconds <= 0) return std::optional<WallTime>();
  constexpr int64_t kMostSeconds = INT64_MAX / std::nano::den - 1;
  if (parts->seconds > kMostSeconds) return DataLoss("{} is out of range", name);
  return std::optional(WallFromNanos(parts->seconds * std::nano::den + parts->nanos));
}

}  // namespace

std::string EncodeTimes(const ShutdownTimes& times) {
  return fmt::format(R"({{"startTime":"{}","endTime":"{}"}})", TextOf(times.start),
                     TextOf(times.end));
}

StatusOr<ShutdownTimes> DecodeTimes(const std::string& text) {
  ShutdownTimes times;
  ASSIGN_OR_RETURN(times.start, TimeIn(text, "startTime"), "read");
  ASSIGN_OR_RETURN(times.end, TimeIn(text, "endTime"), "read");
  return times;
}

std::string EncodeProgress(const ShutdownProgress& progress) {
  return fmt::format("{} {} {}", progress.ended ? 1 : 0, progress.group,
                     progress.group_began.monotonic.count());
}

StatusOr<ShutdownProgress> DecodeProgress(const std::string& text, uint64_t boot) {
  std::vector<int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || (rest != end && *rest != ' '))
      return DataLoss("not the progress of a shutdown");
    numbers.push_back(number);
    at = rest == end ? end : rest + 1;
  }
  if (numbers.size() != 3) return DataLoss("{} numbers instead of 3", numbers.size());
  return ShutdownProgress{.group = static_cast<size_t>(numbers[1]),
                          .group_began = {boot, Duration{numbers[2]}},
                          .ended = numbers[0] != 0};
}

}  // namespace splitlet::gc
