#include "services/gc/protect/pressure/thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "libs/node/resources.h"

namespace splitlet::gc {
namespace {

int64_t AmountOf(const std::string& value, int64_t capacity) {
  if (value.empty()) return 0;
  const auto amount = node::ThresholdAmount(value, capacity);
  return amount.ok() && *amount ? (*amount)->Value() : 0;
}

std::string Lookup(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

}  // namespace

std::vector<Threshold> ThresholdsOf(const GcConfig& config) {
  std::vector<Threshold> thresholds;
  const auto add = [&](const std::string& signal, const std::string& value, Duration grace) {
    if (IsContainerFs(signal)) return;
    const std::string reclaim = Lookup(config.eviction_minimum_reclaim, signal);
    thresholds.push_back({signal, value, grace, reclaim});
    if (const auto same = SameForContainerFs(signal))
      thresholds.push_back({*same, value, grace, reclaim});
  };
  for (const auto& [signal, value] : config.eviction_hard) add(signal, value, Duration{0});
  // A threshold that the configuration names itself takes precedence.
  const auto memory = config.eviction_hard.find("memory.available");
  const std::string pods_memory(kPodsMemorySignal);
  if (!config.pods_cgroup.empty() && memory != config.eviction_hard.end() &&
      !config.eviction_hard.contains(pods_memory))
    thresholds.push_back({pods_memory, memory->second, Duration{0},
                          Lookup(config.eviction_minimum_reclaim, memory->first)});
  for (const auto& [signal, value] : config.eviction_soft) {
    const auto grace = config.eviction_soft_grace.find(signal);
    if (grace == config.eviction_soft_grace.end()) continue;  // libs/config refuses it
    add(signal, value, grace->second);
  }
  return thresholds;
}

std::string KeyOf(const Threshold& threshold) {
  return threshold.hard() ? threshold.signal : threshold.signal + "/soft";
}

bool IsMet(const Threshold& threshold, const PressureSignal& signal, Counted counted) {
  const int64_t value = AmountOf(threshold.value, signal.capacity);
  if (value <= 0) return false;
  const int64_t reclaim =
      counted == Counted::kValueAndReclaim ? AmountOf(threshold.min_reclaim, signal.capacity) : 0;
  return signal.available < value + reclaim;
}

bool AnyMet(const std::vector<Threshold>& thresholds, const std::vector<PressureSignal>& signals) {
  return std::ranges::any_of(thresholds, [&](const Threshold& threshold) {
    const PressureSignal* signal = FindSignal(signals, threshold.signal);
    return signal != nullptr && IsMet(threshold, *signal, Counted::kValueAndReclaim);
  });
}

Judged Judge(const std::vector<Threshold>& thresholds, const std::vector<PressureSignal>& signals,
             MetStates& states, Clock::Time now) {
  Judged judged;
  MetStates next;
  for (const auto& threshold : thresholds) {
    const PressureSignal* signal = FindSignal(signals, threshold.signal);
    if (signal == nullptr) continue;
    const std::string key = KeyOf(threshold);
    const auto before = states.find(key);
    const bool drove = before != states.end() && before->second.acted_on;
    if (!IsMet(threshold, *signal, drove ? Counted::kValueAndReclaim : Counted::kValue)) continue;
    MetState state{before != states.end() ? before->second.since : now, false};
    state.acted_on = now - state.since >= threshold.grace;
    if (state.acted_on) judged.due.push_back(threshold);
    if (std::ranges::find(judged.met, threshold.signal) == judged.met.end())
      judged.met.push_back(threshold.signal);
    next[key] = state;
  }
  std::stable_partition(judged.due.begin(), judged.due.end(), [](const Threshold& threshold) {
    return StarvedBy(threshold.signal) == Starved::kMemory;
  });
  states = std::move(next);
  return judged;
}

std::optional<Starved> StarvedBy(const std::string& signal) {
  if (signal == "memory.available" || signal == kPodsMemorySignal) return Starved::kMemory;
  if (signal == "pid.available") return Starved::kPids;
  if (signal.ends_with("fs.available")) return Starved::kStorage;
  if (signal.ends_with("fs.inodesFree")) return Starved::kInodes;
  return std::nullopt;
}

std::string NameOf(Starved resource) {
  switch (resource) {
    case Starved::kMemory: return "memory";
    case Starved::kStorage: return "ephemeral-storage";
    case Starved::kInodes: return "inodes";
    case Starved::kPids: return "pids";
  }
  UNREACHABLE();
}

std::string EncodeMetStates(const MetStates& states) {
  std::string text;
  for (const auto& [key, state] : states)
    text += fmt::format("{} {} {}\n", key, state.since.monotonic.count(), state.acted_on ? 1 : 0);
  return text;
}

MetStates DecodeMetStates(const std::string& text, uint64_t boot) {
  MetStates states;
  std::istringstream lines(text);
  std::string key;
  int64_t ns = 0;
  int acted = 0;
  while (lines >> key >> ns >> acted) states[key] = {Clock::Time{boot, Duration{ns}}, acted == 1};
  return states;
}

}  // namespace splitlet::gc
