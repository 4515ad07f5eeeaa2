#pragma once

/// How many events were told of each pod in the last minute. Used by Checker.
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

  /// `count`: all that were ever told of the pod with this UID, as seen at `now`. What was told
  /// before it was first seen counts as told then.
  int64_t InLastMinute(const std::string& uid, Clock::Time now, int64_t count);

 private:
  // What there was since when; the first as of a minute ago or earlier, if it is known.
  using History = std::deque<std::pair<Clock::Time, int64_t>>;
  std::map<std::string, History> histories_;
};

}  // namespace splitlet::chaos
