#include "services/pleg/health/runtime_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::pleg {
namespace {

Clock::Time TimeOf(Duration since_boot) { return {.boot = 1, .monotonic = since_boot}; }

cri::RuntimeReport Reporting(bool runtime_ready, bool network_ready) {
  cri::RuntimeReport report;
  report.conditions.push_back({.type = "RuntimeReady",
                               .status = runtime_ready,
                               .reason = runtime_ready ? "" : "Starting",
                               .message = runtime_ready ? "" : "not yet"});
  report.conditions.push_back({.type = "NetworkReady", .status = network_ready});
  return report;
}

const char kNotAsked[] = "container runtime status check may not have completed yet";
const char kDown[] = "container runtime is down";
const char kNotListed[] = "PLEG is not healthy: pleg has yet to be successful";
const char kOldListing[] =
    "PLEG is not healthy: pleg was last seen active 3m0.001s ago; threshold is 3m0s";
const char kNotReady[] =
    "container runtime not ready: RuntimeReady=false reason:Starting message:not yet";

TEST(RuntimeStatus, TheRuntimeIsHealthyWhileItAnswersAndIsListed) {
  const Clock::Time now = TimeOf(10min);
  const struct {
    const char* name;
    std::optional<Clock::Time> answered_at;
    Clock::Time last_listing;
    cri::RuntimeReport report;
    std::vector<std::string> want;
  } kCases[] = {
      {"just answered and listed", now, now, Reporting(true, true), {}},
      {"both as old as may be", TimeOf(10min - 30s), TimeOf(7min), Reporting(true, true), {}},
      {"nothing yet", std::nullopt, {}, {}, {kNotAsked, kNotListed}},
      {"listed before the first answer", std::nullopt, now, {}, {kNotAsked}},
      {"answered before the first listing", now, {}, Reporting(true, true), {kNotListed}},
      {"the answer is too old", TimeOf(10min - 30s - 1ms), now, Reporting(true, true), {kDown}},
      {"the listing is too old", now, TimeOf(7min - 1ms), Reporting(true, true), {kOldListing}},
      {"the runtime is not ready", now, now, Reporting(false, true), {kNotReady}},
      {"without a network the runtime is healthy", now, now, Reporting(true, false), {}},
      {"down and not ready", TimeOf(9min), now, Reporting(false, false), {kDown, kNotReady}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(ErrorsOf({}, {.now = now,
                              .answered_at = c.answered_at,
                              .last_listing = c.last_listing,
                              .report = c.report}),
                testing::ElementsAreArray(c.want));
  }
}

TEST(RuntimeStatus, ARuntimeThatNeverAnsweredIsNotKnownToBeDown) {
  EXPECT_FALSE(IsDown({}, TimeOf(10min), std::nullopt));
  EXPECT_FALSE(IsDown({}, TimeOf(40s), TimeOf(10s)));
  EXPECT_TRUE(IsDown({}, TimeOf(41s), TimeOf(10s)));
}

TEST(RuntimeStatus, BothConditionsMakeTheRuntimeReady) {
  EXPECT_TRUE(IsReady(Reporting(true, true)));
  EXPECT_FALSE(IsReady(Reporting(true, false)));
  EXPECT_FALSE(IsReady(Reporting(false, true)));
  EXPECT_FALSE(IsReady({}));
}

TEST(RuntimeStatus, TheRuntimeIsAskedOftenUntilItWasReadyOnce) {
  const PlegConfig config;
  const struct {
    const char* name;
    bool was_ready;
    Duration age;
    Duration want;
  } kCases[] = {
      {"at the start", false, Duration{0}, config.first_status_period},
      {"soon after it", false, config.first_status_time - 1ms, config.first_status_period},
      {"long after it", false, config.first_status_time, config.unready_status_period},
      {"it was ready", true, Duration{0}, config.status_period},
      {"it was ready long ago", true, config.first_status_time, config.status_period},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(StatusPeriod(config, c.was_ready, c.age), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pleg
