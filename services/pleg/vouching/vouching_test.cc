#include "services/pleg/vouching/vouching.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

using Uids = std::set<std::string>;

struct VouchingBench {
  const Uids& not_vouched() const { return table.completeness().not_vouched; }
  bool complete() const { return !table.completeness().scopes.empty(); }

  FakeClock clock;
  exec::FakeLoop loop{clock};
  bus::FakeBusNetwork network{clock, 1};
  bus::FakeBus bus{network, "pleg", loop};
  bus::Table<v1::RuntimeRecord> table = *bus::Own<v1::RuntimeRecord>(bus, "runtime");
  prometheus::Registry registry;
  PlegMetrics metrics{registry};
  Clock::Time listed, inspecting_since = clock.Now();
  int missing_put = 0;
  Vouching vouching{{.clock = clock,
                     .loop = loop,
                     .table = table,
                     .metrics = metrics,
                     .last_listing = [this] { return listed; },
                     .inspecting_since = [this](const std::string&) { return inspecting_since; },
                     .put_missing = [this] { ++missing_put; }}};
};

TEST(Vouching, APodIsVouchedForUnlessItWasWithdrawnSince) {
  enum Step { kVouch, kWithdraw, kAwait, kRelease };
  const struct {
    const char* name;
    std::vector<Step> steps;
    bool vouched, awaited;
  } kCases[] = {
      {"never named", {}, true, false},
      {"withdrawn", {kWithdraw}, false, false},
      {"withdrawn and inspected", {kWithdraw, kVouch}, true, false},
      {"withdrawn again", {kWithdraw, kVouch, kWithdraw}, false, false},
      {"a listing waits for it", {kWithdraw, kAwait}, false, true},
      {"inspected after the listing", {kWithdraw, kAwait, kVouch}, true, false},
      {"the inspection failed", {kWithdraw, kAwait, kWithdraw, kRelease}, false, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    VouchingBench test;
    test.listed = test.clock.Now();
    test.vouching.Put();
    for (const Step step : c.steps) {
      if (step == kVouch) test.vouching.Vouch("uid-web");
      if (step == kWithdraw) test.vouching.Withdraw("uid-web");
      if (step == kAwait) test.vouching.Await("uid-web");
      if (step == kRelease) test.vouching.Release("uid-web");
    }
    test.vouching.Put();
    EXPECT_EQ(test.vouching.IsVouched("uid-web"), c.vouched);
    EXPECT_EQ(test.not_vouched(), c.vouched ? Uids{} : Uids{"uid-web"});
    EXPECT_EQ(test.vouching.AnyAwaited(), c.awaited);
  }
}

TEST(Vouching, NothingIsPromisedBeforeTheFirstListingIsInspected) {
  const Clock::Time listed{.boot = 1, .monotonic = 1s};
  const struct {
    const char* name;
    bool complete;
    Clock::Time listed;
    bool awaited;
    Promise want;
  } kCases[] = {
      {"no listing", false, {}, false, Promise::kNone},
      {"the first listing waits for an inspection", false, listed, true, Promise::kNone},
      {"the first listing is inspected", false, listed, false, Promise::kFirst},
      {"a later listing waits for an inspection", true, listed, true, Promise::kNewer},
      {"a later listing is inspected", true, listed, false, Promise::kNewer},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(NextPromise(c.complete, c.listed, c.awaited), c.want);
  }
}

TEST(Vouching, TheTableIsCompleteAfterTheInspectionsOfTheFirstListing) {
  VouchingBench test;
  test.vouching.Put();
  EXPECT_FALSE(test.complete()) << "nothing was listed yet";
  test.listed = test.clock.Now();
  test.vouching.Withdraw("uid-web");
  test.vouching.Await("uid-web");
  test.vouching.Put();
  EXPECT_FALSE(test.complete());
  EXPECT_EQ(test.missing_put, 0);
  test.vouching.Vouch("uid-web");
  test.vouching.Put();
  EXPECT_TRUE(test.complete());
  test.vouching.Put();
  EXPECT_EQ(test.missing_put, 1);
}

TEST(Vouching, NoCallerWaitsForASlowInspectionForEver) {
  VouchingBench test;
  test.listed = test.clock.Now();
  int answers = 0;
  test.vouching.Withdraw("uid-web");
  test.vouching.Await("uid-web");
  test.vouching.AnswerWhenInspected({[&](const StatusOr<Clock::Time>& listed) {
    ++answers;
    EXPECT_EQ(*listed, test.listed);
  }});
  test.vouching.Put();
  test.loop.Advance(1900ms);
  EXPECT_EQ(answers, 0);
  test.loop.Advance(200ms);
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(test.complete());
  EXPECT_EQ(test.not_vouched(), Uids{"uid-web"});
}

TEST(Vouching, ABurstIsPutOnce) {
  VouchingBench test;
  test.listed = test.clock.Now();
  test.vouching.Put();
  for (const char* uid : {"uid-a", "uid-b"}) {
    test.vouching.Withdraw(uid);
    test.vouching.PutSoon();
  }
  test.loop.Advance(90ms);
  EXPECT_EQ(test.not_vouched(), Uids{});
  test.loop.Advance(20ms);
  EXPECT_EQ(test.not_vouched(), (Uids{"uid-a", "uid-b"}));
}

}  // namespace
}  // namespace splitlet::pleg
