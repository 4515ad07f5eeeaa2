#include "services/gc/protect/pressure/conditions.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

namespace splitlet::gc {

std::vector<std::string> UnreadThresholds(const Signals& signals, const GcConfig& config) {
  std::set<std::string> wanted;
  for (const auto* thresholds : {&config.eviction_hard, &config.eviction_soft}) {
    for (const auto& [name, value] : *thresholds) {
      if (!IsContainerFs(name)) wanted.insert(name);
      if (const auto same = SameForContainerFs(name)) wanted.insert(*same);
    }
  }
  if (config.eviction_hard.contains("memory.available"))
    wanted.insert(std::string(kPodsMemorySignal));
  std::vector<std::string> unread;
  for (const auto& [name, why] : signals.unread)
    if (wanted.contains(name)) unread.push_back(name);
  return unread;
}

std::string ConditionOf(const std::string& signal) {
  if (signal == "memory.available" || signal == kPodsMemorySignal) return "MemoryPressure";
  if (signal == "pid.available") return "PIDPressure";
  for (const char* const disk : {"nodefs.", "imagefs.", "containerfs."})
    if (signal.starts_with(disk)) return "DiskPressure";
  return "";
}

void Remember(LastMet& last_met, const std::vector<std::string>& met, Clock::Time now,
              Duration transition) {
  for (const auto& signal : met) {
    const std::string condition = ConditionOf(signal);
    if (!condition.empty()) last_met[condition] = now;
  }
  std::erase_if(last_met, [&](const auto& entry) { return now - entry.second >= transition; });
}

std::vector<std::string> Conditions(const LastMet& last_met, Clock::Time now, Duration transition) {
  std::vector<std::string> conditions;
  for (const auto& [condition, at] : last_met) {
    if (now - at < transition) conditions.push_back(condition);
  }
  return conditions;
}

void KeepStanding(LastMet& last_met, const std::vector<std::string>& unread, Clock::Time now) {
  for (const auto& signal : unread) {
    const auto standing = last_met.find(ConditionOf(signal));
    if (standing != last_met.end()) standing->second = now;
  }
}

std::string EncodeLastMet(const LastMet& last_met) {
  std::string text;
  for (const auto& [condition, at] : last_met)
    text += fmt::format("{} {}\n", condition, at.monotonic.count());
  return text;
}

LastMet DecodeLastMet(const std::string& text, uint64_t boot) {
  LastMet last_met;
  std::istringstream lines(text);
  std::string condition;
  for (int64_t ns = 0; lines >> condition >> ns;) last_met[condition] = {boot, Duration{ns}};
  return last_met;
}

}  // namespace splitlet::gc
