#pragma once

/// Checks evictions: one pod after the other, never a critical one, and each chosen pod ends,
/// whatever happens to gc.
/// Threads: one.
/// Errors: violations as text; empty: none.
/// Source: docs/behaviour/eviction.md, "The end of an evicted pod";
/// services/gc/protect/eviction/evictions.h.

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::simulation {

/// How long a second eviction waits for the first pod to be gone.
inline constexpr Duration kVictimsTurn = std::chrono::seconds{30};

class EvictionWatch {
 public:
  /// gc requests the eviction of a pod. `running`: UIDs of running pods.
  std::string OnAsked(Clock::Time now, const std::string& uid, bool critical,
                      const std::set<std::string>& running) {
    if (critical) return fmt::format("the critical pod {} is evicted", uid);
    const bool again = asked_.contains(uid);
    std::string wrong;
    for (const auto& [other, at] : asked_)
      if (!again && now - at < kVictimsTurn && running.contains(other))
        wrong = fmt::format("{} is evicted beside {}, which still runs", uid, other);
    asked_.try_emplace(uid, now);
    return wrong;
  }
  /// pod-worker has accepted it.
  void OnTaken(const std::string& uid) { taken_.insert(uid); }
  /// gc has died and left this pod as chosen.
  void OnLeft(const std::string& uid) { left_.insert(uid); }

  /// Each status of a pod in `podstatus`.
  std::string OnShown(const std::string& uid, const std::string& phase, const std::string& reason) {
    const bool evicted = phase == "Failed" && reason == "Evicted";
    if (evicted && !asked_.contains(uid))
      return fmt::format("{} is shown as evicted, and nobody evicts it", uid);
    if (evicted) shown_.insert(uid);
    if (!evicted && shown_.contains(uid))
      return fmt::format("{} was evicted, and is shown {} ({})", uid, phase, reason);
    return {};
  }
  /// No more requests follow. `ends`: pods that may have ended by themselves before.
  std::string AtRest(const std::set<std::string>& ends) const {
    for (const auto& uid : taken_)
      if (!shown_.contains(uid) && !ends.contains(uid))
        return fmt::format("{} was evicted and is not shown so", uid);
    for (const auto& uid : left_)
      if (!taken_.contains(uid) && !ends.contains(uid))
        return fmt::format("{} was chosen by a gc that died, and was spared", uid);
    return {};
  }
  const std::set<std::string>& shown() const { return shown_; }

 private:
  std::map<std::string, Clock::Time> asked_;  // first
  std::set<std::string> taken_, left_, shown_;
};

}  // namespace splitlet::simulation
