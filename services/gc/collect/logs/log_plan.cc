#include "services/gc/collect/logs/log_plan.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>
#include <string_view>

namespace splitlet::gc {
namespace {

constexpr std::string_view kPacked = ".gz";
constexpr std::string_view kHalf = ".tmp";
constexpr const char* kTimeFormat = "%Y%m%d-%H%M%S";
constexpr size_t kTimeLength = 15;
/// A rotation takes several calls of the runtime; more frequent rotations would only add load.
constexpr Duration kSoonestInspection = std::chrono::milliseconds{250};

/// The time in "20260102-030405", read as UTC: only order and distance matter.
std::optional<time_t> ParseStamp(std::string_view text) {
  if (text.size() != kTimeLength) return std::nullopt;
  tm parts{};
  const std::string copy(text);
  const char* const end = ::strptime(copy.c_str(), kTimeFormat, &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return ::timegm(&parts);
}

std::string FormatStamp(time_t time) {
  tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  const size_t length = ::strftime(text, sizeof(text), kTimeFormat, &parts);
  return {text, length};
}

time_t LocalStamp(WallTime now) {
  const time_t seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  tm parts{};
  ::localtime_r(&seconds, &parts);
  parts.tm_isdst = 0;
  return ::timegm(&parts);
}

/// "20260102-030405" for "0.log.20260102-030405", with or without ".gz" or ".tmp".
std::optional<std::string> StampOf(std::string_view live, std::string_view name) {
  if (name.size() < live.size() + 1 + kTimeLength || !name.starts_with(live) ||
      name[live.size()] != '.')
    return std::nullopt;
  const std::string_view stamp = name.substr(live.size() + 1, kTimeLength);
  const std::string_view rest = name.substr(live.size() + 1 + kTimeLength);
  if (!rest.empty() && rest != kPacked && rest != kHalf) return std::nullopt;
  if (!ParseStamp(stamp)) return std::nullopt;
  return std::string(stamp);
}

/// The forms in which each rotated file exists, oldest first.
struct Rotated {
  std::string stamp;
  bool plain = false, packed = false, half = false;
};
std::vector<Rotated> RotatedIn(const LogFiles& files) {
  std::vector<Rotated> found;
  std::vector<std::string> names = files.names;
  std::ranges::sort(names);
  for (const auto& name : names) {
    const auto stamp = StampOf(files.live, name);
    if (!stamp) continue;
    if (found.empty() || found.back().stamp != *stamp) found.push_back({*stamp});
    if (name.ends_with(kPacked)) {
      found.back().packed = true;
    } else if (name.ends_with(kHalf)) {
      found.back().half = true;
    } else {
      found.back().plain = true;
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> LogsToRemove(const LogFiles& files, size_t keep) {
  std::vector<std::string> remove;
  const auto rotated = RotatedIn(files);
  const auto whole = static_cast<size_t>(
      std::ranges::count_if(rotated, [](const auto& r) { return r.plain || r.packed; }));
  size_t extra = whole > keep ? whole - keep : 0;
  for (const auto& r : rotated) {
    const std::string name = files.live + "." + r.stamp;
    if (r.half) remove.push_back(name + std::string(kHalf));
    if (!r.plain && !r.packed) continue;
    const bool old = extra > 0;
    if (old) --extra;
    if (r.plain && (old || r.packed)) remove.push_back(name);
    if (r.packed && old) remove.push_back(name + std::string(kPacked));
  }
  return remove;
}

std::vector<std::string> LogsToCompress(const LogFiles& files) {
  std::vector<std::string> compress;
  const auto rotated = RotatedIn(files);
  for (const auto& r : rotated) {
    if (r.plain && !r.packed && &r != &rotated.back())
      compress.push_back(files.live + "." + r.stamp);
  }
  return compress;
}

std::string RotatedName(const LogFiles& files, WallTime now) {
  time_t stamp = LocalStamp(now);
  const auto rotated = RotatedIn(files);
  if (!rotated.empty()) stamp = std::max(stamp, *ParseStamp(rotated.back().stamp) + 1);
  return files.live + "." + FormatStamp(stamp);
}

LogGrowth GrowthOf(const LogGrowth& before, Clock::Time before_at, const LogSeen& now) {
  LogGrowth growth{.bytes = now.rotated ? 0 : now.bytes, .bytes_per_second = 0};
  if (before_at && now.at > before_at && now.bytes > before.bytes)
    growth.bytes_per_second = static_cast<double>(now.bytes - before.bytes) /
                              std::chrono::duration<double>(now.at - before_at).count();
  return growth;
}

Duration UntilNextInspection(const LogGrowth& growth, uint64_t max_bytes, Duration period) {
  if (growth.bytes_per_second <= 0 || growth.bytes >= max_bytes) return period;
  const double seconds = static_cast<double>(max_bytes - growth.bytes) / growth.bytes_per_second;
  if (seconds >= std::chrono::duration<double>(period).count()) return period;
  const auto wait = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  return std::max(wait, std::min(kSoonestInspection, period));
}

}  // namespace splitlet::gc
