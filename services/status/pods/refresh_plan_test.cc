#include "services/status/pods/refresh_plan.h"

#include <gtest/gtest.h>

#include <functional>

namespace splitlet::status {
namespace {

constexpr SeenTable kStaleTable, kLiveTable{.state = TableState::kLive},
    kCompleteTable{.state = TableState::kComplete, .was_complete = true},
    kWasComplete{.state = TableState::kStale, .was_complete = true};

TEST(RefreshPlan, ATableThatWasCompleteOnceStaysKnown) {
  EXPECT_FALSE(Seen(kStaleTable, TableState::kLive).was_complete);
  EXPECT_TRUE(Seen(kLiveTable, TableState::kComplete).was_complete);
  EXPECT_TRUE(Seen(kCompleteTable, TableState::kStale).was_complete);
  EXPECT_EQ(Seen(kCompleteTable, TableState::kStale).state, TableState::kStale);
}

TEST(RefreshPlan, AllPodsAreComputedAgainWhenATableBecomesKnown) {
  const SeenTables known{.workers = kCompleteTable,
                         .admissions = kCompleteTable,
                         .runtime = kCompleteTable,
                         .may_publish = true};
  const auto with = [&](const std::function<void(SeenTables&)>& change) {
    SeenTables tables = known;
    change(tables);
    return tables;
  };
  const struct {
    const char* name;
    SeenTables before, now;
    bool want;
  } kCases[] = {
      {"nothing changes", known, known, false},
      {"workers are complete", with([](auto& t) { t.workers = kLiveTable; }), known, true},
      {"workers are stale", known, with([](auto& t) { t.workers = kWasComplete; }), true},
      {"workers are live again", with([](auto& t) { t.workers = kWasComplete; }), known, true},
      {"admissions are complete", with([](auto& t) { t.admissions = kLiveTable; }), known, true},
      {"admissions are complete again", with([](auto& t) { t.admissions = kWasComplete; }), known,
       true},
      {"admissions are stale", known, with([](auto& t) { t.admissions = kWasComplete; }), false},
      {"the runtime is complete", with([](auto& t) { t.runtime = kLiveTable; }), known, true},
      {"the runtime is stale", known, with([](auto& t) { t.runtime = kWasComplete; }), false},
      {"the runtime is complete again", with([](auto& t) { t.runtime = kWasComplete; }), known,
       false},
      {"the first status may be put", with([](auto& t) { t.may_publish = false; }), known, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(RefreshesAll(c.before, c.now), c.want);
  }
}

TEST(RefreshPlan, AListingCoversAPodIfItBeganAfterAllThatIsKnown) {
  const auto at = [](int64_t ns) { return Clock::Time{.boot = 1, .monotonic = Duration{ns}}; };
  const auto acted = [](uint64_t boot, int64_t ns) {
    v1::WorkerRecord worker;
    worker.mutable_last_action_at()->set_boot(boot);
    worker.mutable_last_action_at()->set_monotonic_ns(ns);
    return worker;
  };
  const v1::WorkerRecord before = acted(1, 9), same = acted(1, 10), other_boot = acted(2, 20);
  const ListingInputs good{.complete = true, .began = at(10), .now = at(12)};
  const auto with = [&](const std::function<void(ListingInputs&)>& change) {
    ListingInputs inputs = good;
    change(inputs);
    return inputs;
  };
  const struct {
    const char* name;
    ListingInputs listing;
    bool want;
  } kCases[] = {
      {"a complete listing", good, true},
      {"the table is not complete", with([](auto& l) { l.complete = false; }), false},
      {"the pod is not vouched for", with([](auto& l) { l.vouched = false; }), false},
      {"its record cannot be decoded", with([](auto& l) { l.readable = false; }), false},
      {"of an earlier boot", with([](auto& l) { l.now.boot = 2; }), false},
      {"after our last put", with([&](auto& l) { l.put_at = at(9); }), true},
      {"at our last put", with([&](auto& l) { l.put_at = at(10); }), false},
      {"after the worker acted", with([&](auto& l) { l.worker = &before; }), true},
      {"as the worker acted", with([&](auto& l) { l.worker = &same; }), false},
      {"the worker acted in another boot", with([&](auto& l) { l.worker = &other_boot; }), true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(CoversPod(c.listing), c.want);
  }
}

TEST(RefreshPlan, VersionsRiseWithTheClockAndEachPut) {
  const WallTime now{5000ms};
  EXPECT_EQ(NextVersion(0, now), 5000U);
  EXPECT_EQ(NextVersion(4000, now), 5000U);
  EXPECT_EQ(NextVersion(5000, now), 5001U) << "two puts in a millisecond";
  EXPECT_EQ(NextVersion(9000, now), 9001U) << "the clock was set back";
}

}  // namespace
}  // namespace splitlet::status
