#pragma once

/// Counts the events of each pod in the last minute. Used by EventsRule.
/// Threads: one.
/// Errors: none.
/// Units: occurrences.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "libs/base/clock.h"

namespace splitlet::chaos {

class EventRates {
 public:
  static constexpr Duration kSpan = 60s;

  /// `count`: total events of the pod with this UID, as seen at `now`. Events before the first call
  /// count as of that call.
  int64_t InLastMinute(const std::string& uid, Clock::Time now, int64_t count);

 private:
  // Total counts with their times, oldest first. The first entry is at least a minute old, unless
  // the history is shorter.
  using History = std::deque<std::pair<Clock::Time, int64_t>>;
  std::map<std::string, History> histories_;
};

}  // namespace splitlet::chaos
