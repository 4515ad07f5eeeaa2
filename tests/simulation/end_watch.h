#pragma once

/// Checks the order in which pods end in a node shutdown: a priority group is asked when those
/// below it have ended or used up their time, and a pod ends within its time after being asked.
/// Threads: one.
/// Errors: violations as text; empty: none.
/// Source: docs/behaviour/node-shutdown.md, "Groups".

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "services/gc/protect/shutdown/groups.h"

namespace splitlet::simulation {

class EndWatch {
 public:
  /// `up`: running pods, and the group of each.
  void Begin(Clock::Time now, gc::ShutdownGroups groups, std::map<std::string, size_t> up) {
    began_ = now;
    groups_ = std::move(groups);
    up_ = std::move(up);
    asked_.clear();
  }
  /// `running`: all pods that run now.
  std::string OnAsked(Clock::Time now, const std::string& uid,
                      const std::set<std::string>& running) {
    asked_.try_emplace(uid, now);
    const auto found = up_.find(uid);
    if (found == up_.end()) return {};
    for (const auto& [other, group] : up_)
      if (group < found->second && running.contains(other) && now < EarliestAfter(group, running))
        return fmt::format("{} is asked to end before {} of a lower priority has ended", uid,
                           other);
    return {};
  }
  /// `most`: longest time of any pod from being asked to its end.
  std::string Overdue(Clock::Time now, Duration most, const std::set<std::string>& running) const {
    for (const auto& [uid, when] : asked_)
      if (now - when > most && running.contains(uid))
        return fmt::format("{} was asked to end {} s ago and runs", uid,
                           (now - when) / Duration{1s});
    return {};
  }

 private:
  /// The latest time at which this group may end while pods of it run. A group below takes its
  /// whole time if its pods still run, and otherwise may have taken none.
  Clock::Time EarliestAfter(size_t group, const std::set<std::string>& running) const {
    std::set<size_t> unfinished;
    for (const auto& [uid, of] : up_)
      if (of <= group && running.contains(uid)) unfinished.insert(of);
    int64_t seconds = 0;
    for (const size_t each : unfinished) seconds += groups_[each].seconds;
    return began_ + std::chrono::seconds{seconds};
  }

  Clock::Time began_;
  gc::ShutdownGroups groups_;
  std::map<std::string, size_t> up_;
  std::map<std::string, Clock::Time> asked_;
};

}  // namespace splitlet::simulation
