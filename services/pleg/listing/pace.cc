#include "services/pleg/listing/pace.h"

#include <algorithm>

namespace splitlet::pleg {
namespace {

// A burst starts several containers at the same time; one listing shows them all.
constexpr Duration kGather = std::chrono::milliseconds{20};
// A listing for many pods begins this long after it is asked for, or kListingShare times as long as
// the last listing took, so that listings take at most a fifth of the runtime's time.
constexpr Duration kGatherMany = std::chrono::milliseconds{100};
constexpr int kListingShare = 4;
constexpr Duration kGatherAtMost = std::chrono::seconds{1};
// This many listings within kQuickPeriod begin after kGather; further ones are listings for many.
constexpr size_t kQuickListings = 6;
constexpr Duration kQuickPeriod = std::chrono::seconds{1};

}  // namespace

void ListingPace::OnBegin(Clock::Time began) {
  recent_.push_back(began);
  if (recent_.size() > kQuickListings) recent_.pop_front();
}

Duration ListingPace::ForMany() const {
  return std::clamp(kListingShare * took_, kGatherMany, kGatherAtMost);
}

Duration ListingPace::ForUnknown(Clock::Time now) const {
  // On a slow runtime the period is long enough for that many listings at the pace for many.
  const Duration period = std::max<Duration>(
      kQuickPeriod, static_cast<int64_t>(kQuickListings) * (kListingShare + 1) * took_);
  const bool many = recent_.size() == kQuickListings && now - recent_.front() < period;
  return many ? ForMany() : kGather;
}

Duration WaitFor(const NextListing& asked, Duration regular, const ListingPace& pace) {
  return std::min(
      {regular, asked.within.value_or(regular), asked.for_many ? pace.ForMany() : regular});
}

}  // namespace splitlet::pleg
