#include "services/pleg/listing/pace.h"

#include <gtest/gtest.h>

namespace splitlet::pleg {
namespace {

Clock::Time SinceBoot(Duration since_boot) { return {.boot = 1, .monotonic = since_boot}; }

TEST(ListingPace, ListingsForManyTakeAFifthOfTheTime) {
  const struct {
    const char* name;
    Duration took, want;
  } kCases[] = {
      {"no listing yet", 0s, 100ms},
      {"a fast runtime", 25ms, 100ms},
      {"four times as long as a listing", 50ms, 200ms},
      {"no longer than a second", 400ms, 1s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ListingPace pace;
    pace.OnEnd(c.took);
    EXPECT_EQ(pace.ForMany(), c.want);
  }
}

TEST(ListingPace, ABurstOfListingsForUnknownIdsSlowsDown) {
  const struct {
    const char* name;
    int listings;  // at 0, 10, 20 ... ms
    Duration took, now, want;
  } kCases[] = {
      {"the first", 0, 0s, 0s, 20ms},
      {"five in a second", 5, 10ms, 100ms, 20ms},
      {"six in a second", 6, 10ms, 100ms, 100ms},
      {"a second after the first of six", 6, 10ms, 1s, 20ms},
      {"a second after the first of seven", 7, 10ms, 1s, 100ms},
      {"six within thirty times as long as a slow listing", 6, 100ms, 2999ms, 400ms},
      {"after thirty times as long as a slow listing", 6, 100ms, 3s, 20ms},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ListingPace pace;
    for (int i = 0; i < c.listings; ++i) pace.OnBegin(SinceBoot(i * 10ms));
    pace.OnEnd(c.took);
    EXPECT_EQ(pace.ForUnknown(SinceBoot(c.now)), c.want);
  }
}

TEST(ListingPace, TheShortestWaitCountsAfterAListing) {
  const struct {
    const char* name;
    NextListing asked;
    Duration want;  // the listing took 50 ms, the next regular one follows after 10 s
  } kCases[] = {
      {"no request", {}, 10s},
      {"immediately", {.within = 0s}, 0s},
      {"soon", {.within = 80ms}, 80ms},
      {"later than the regular one", {.within = 20s}, 10s},
      {"for many", {.for_many = true}, 200ms},
      {"for many, and sooner for an id", {.within = 20ms, .for_many = true}, 20ms},
      {"for many, and later for an id", {.within = 320ms, .for_many = true}, 200ms},
  };
  ListingPace pace;
  pace.OnEnd(50ms);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WaitFor(c.asked, 10s, pace), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pleg
