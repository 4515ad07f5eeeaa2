#pragma once

/// When the next listing begins: often enough for events, and so that listings take at most a fifth
/// of the runtime's time. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Listing" and "Inspection".

#include <deque>
#include <optional>

#include "libs/base/clock.h"

namespace splitlet::pleg {

/// The last listings, good or not.
class ListingPace {
 public:
  void OnBegin(Clock::Time began);
  void OnEnd(Duration took) { took_ = took; }

  /// The wait before a listing that serves many pods.
  Duration ForMany() const;
  /// The wait before a listing for ids that no pod has. A burst of listings follows the pace for
  /// many.
  Duration ForUnknown(Clock::Time now) const;

 private:
  Duration took_{0};                // of the last one
  std::deque<Clock::Time> recent_;  // when the last few began
};

/// Requests that came while a listing ran.
struct NextListing {
  std::optional<Duration> within;  // the shortest of them
  bool for_many = false;
};
/// The wait after the end of a listing. `regular`: without a request.
Duration WaitFor(const NextListing& asked, Duration regular, const ListingPace& pace);

}  // namespace splitlet::pleg
