#include "libs/exec/limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::exec {
namespace {

/// A runtime whose calls take `alone` each up to `cores` at once, and share the cores beyond.
double LimitFoundFor(LimitCore& core, double cores, const std::vector<Duration>& alone) {
  FakeClock clock;
  for (int round = 0; round < 150; ++round) {
    const size_t kind = static_cast<size_t>(round) % alone.size();
    std::vector<LimitCore::Ticket> batch;
    while (core.MayStart(clock.Now())) batch.push_back(core.Start(kind, clock.Now()));
    const double slower = std::max(1.0, static_cast<double>(batch.size()) / cores);
    clock.Advance(std::chrono::duration_cast<Duration>(alone[kind] * slower));
    for (const auto ticket : batch) core.Finish(ticket, clock.Now(), true);
  }
  return core.limit();
}

TEST(LimitCore, FindsWhatTheRuntimeCanDo) {
  const struct {
    const char* name;
    double cores, initial;
    std::vector<Duration> alone;
    double at_least, at_most;
  } kCases[] = {
      {"two cores take a few calls at once", 2, 2, {20ms}, 5, 8},
      {"also when a burst is the first that is seen", 2, 12, {20ms}, 5, 8},
      {"eight cores take more", 8, 2, {20ms}, 18, 24},
      {"calls that only wait reach the maximum", 1000, 2, {20ms}, 64, 64},
      {"a kind that takes longer is not a call that got slower", 1000, 2, {2ms, 200ms}, 64, 64},
      {"two kinds share the cores", 2, 2, {20ms, 50ms}, 5, 8},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    LimitCore core({.cores = c.cores, .initial = c.initial, .kinds = {c.alone.size(), CallKind{}}});
    const double found = LimitFoundFor(core, c.cores, c.alone);
    EXPECT_GE(found, c.at_least);
    EXPECT_LE(found, c.at_most);
  }
}

struct Calls {
  int count = 0;
  Duration took{0};
};

/// One after the other.
void FinishOnes(LimitCore& core, FakeClock& clock, LimitCore::Kind kind, Calls calls) {
  for (int i = 0; i < calls.count; ++i) {
    const auto ticket = core.Start(kind, clock.Now());
    clock.Advance(calls.took);
    core.Finish(ticket, clock.Now(), true);
  }
}

TEST(LimitCore, AHungCallStopsCounting) {
  LimitCore core({.initial = 2});
  FakeClock clock;
  FinishOnes(core, clock, 0, {4, 50ms});
  const auto hung = core.Start(0, clock.Now());
  const auto hung_too = core.Start(0, clock.Now());
  EXPECT_FALSE(core.MayStart(clock.Now()));
  EXPECT_EQ(core.NextSlow(clock.Now()), clock.Now() + 200ms);
  clock.Advance(199ms);
  EXPECT_FALSE(core.MayStart(clock.Now()));
  clock.Advance(1ms);
  EXPECT_TRUE(core.MayStart(clock.Now()));
  EXPECT_FALSE(core.NextSlow(clock.Now()));
  core.Finish(hung, clock.Now(), false);
  core.Finish(hung_too, clock.Now(), false);
  EXPECT_EQ(core.running(), 0u);
}

TEST(LimitCore, AKindThatTakesLongHoldsTheOthersUpForNoLongerThanASlowCallMay) {
  LimitCore core({.initial = 2, .kinds = {{}, {}}});
  FakeClock clock;
  FinishOnes(core, clock, 0, {4, 10s});
  core.Start(0, clock.Now());
  core.Start(0, clock.Now());
  EXPECT_EQ(core.NextSlow(clock.Now()), clock.Now() + 2s);
  clock.Advance(2s);
  EXPECT_TRUE(core.MayStart(clock.Now()));
}

TEST(LimitCore, SlowCallsTooHaveAnEnd) {
  LimitCore core({.initial = 2, .max_running = 3});
  FakeClock clock;
  core.Start(0, clock.Now());
  core.Start(0, clock.Now());
  clock.Advance(1min);
  core.Start(0, clock.Now());
  clock.Advance(1min);
  EXPECT_FALSE(core.MayStart(clock.Now()));
}

TEST(LimitCore, WhatWaitsCountsAsLongAsOneThatWorksWould) {
  constexpr LimitCore::Kind kStop = 1;
  const struct {
    const char* name;
    int quick, slow;  // calls before: of 50 ms, and then of 30 s
    Duration counts_for;
  } kCases[] = {
      {"nothing is known", 0, 0, 100ms},
      {"the last ones ended by themselves", 8, 0, 200ms},
      {"a few waited", 8, 3, 200ms},
      {"most of them waited", 8, 6, 100ms},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    LimitCore core({.initial = 1, .kinds = {{}, {.waits = true}}});
    FakeClock clock;
    FinishOnes(core, clock, kStop, {c.quick, 50ms});
    FinishOnes(core, clock, kStop, {c.slow, 30s});
    core.Start(kStop, clock.Now());
    EXPECT_FALSE(core.MayStart(clock.Now()));
    EXPECT_EQ(core.NextSlow(clock.Now()), clock.Now() + c.counts_for);
    clock.Advance(c.counts_for);
    EXPECT_TRUE(core.MayStart(clock.Now()));
  }
}

TEST(LimitCore, ThatAllOfThemWaitIsKnownBeforeTheFirstHasEnded) {
  LimitCore core({.initial = 2, .max_running = 3, .kinds = {{.waits = true}}});
  FakeClock clock;
  FinishOnes(core, clock, 0, {8, 200ms});
  int told = 0;
  for (const auto began = clock.Now(); clock.Now() - began < 5s; clock.Advance(100ms))
    for (; core.MayStart(clock.Now()); ++told) core.Start(0, clock.Now());
  EXPECT_GE(told, 50) << "two at a time, most of them for a tenth of a second";
  EXPECT_LE(told, 100);
}

/// Asks for places on virtual time, and remembers who got one.
class Line {
 public:
  explicit Line(LimitOptions options) : limit(clock, loop, std::move(options)) {}

  void Ask(const std::string& name, LimitCore::Kind kind = 0, Duration patience = 1h,
           std::shared_ptr<CancelToken> cancel = nullptr) {
    limit.Begin(kind, {clock.Now() + patience, std::move(cancel)},
                [this, name](StatusOr<Permit> permit) {
                  if (!permit.ok())
                    return gone.push_back(fmt::format("{} {}", name, permit.status()));
                  held.emplace(name, std::move(*permit));
                  began.push_back(name);
                });
  }

  void End(const std::string& name) {
    const auto ended = held.extract(name);
    EXPECT_TRUE(ended) << name;
  }

  FakeClock clock;
  FakeLoop loop{clock};
  AdaptiveLimit limit;
  std::vector<std::string> began, gone;
  std::map<std::string, Permit> held;
};

using Names = std::vector<std::string>;

constexpr auto kOnePlace = [] {
  return LimitOptions{.min = 1, .max = 1, .initial = 1, .slow_unmeasured = 1h};
};

TEST(AdaptiveLimit, WaitersStartInTheOrderInWhichTheyCameLessTheirHeadStart) {
  LimitOptions options = kOnePlace();
  options.kinds = {{}, {.head_start = 10s}};
  Line line(options);
  line.Ask("runs");
  line.Ask("a");
  line.Ask("b");
  line.clock.Advance(9s);
  line.Ask("favoured", 1);
  line.clock.Advance(2s);
  line.Ask("favoured, too late", 1);
  line.Ask("c");
  for (const std::string last : {"runs", "favoured", "a", "b", "favoured, too late"})
    line.End(last);
  EXPECT_EQ(line.began, (Names{"runs", "favoured", "a", "b", "favoured, too late", "c"}));
}

TEST(AdaptiveLimit, WhoWaitsTooLongIsTold) {
  Line line(kOnePlace());
  line.Ask("runs");
  line.Ask("impatient", 0, 5s);
  line.Ask("patient");
  line.loop.Advance(4s);
  EXPECT_EQ(line.gone, Names{});
  line.loop.Advance(1s);
  EXPECT_EQ(line.gone, Names{"impatient wait for a place among the running calls: too many "
                             "calls run (DEADLINE_EXCEEDED)"});
  line.End("runs");
  EXPECT_EQ(line.began, (Names{"runs", "patient"}));
}

TEST(AdaptiveLimit, WhoIsCancelledLeavesTheLineAndWhoRunsStays) {
  Line line(kOnePlace());
  const auto cancel = std::make_shared<CancelToken>();
  line.Ask("runs", 0, 1h, cancel);
  line.Ask("waits", 0, 1h, cancel);
  line.Ask("next");
  cancel->Cancel();
  line.Ask("came too late", 0, 1h, cancel);
  EXPECT_EQ(
      line.gone,
      (Names{"waits wait for a place among the running calls: given up (CANCELLED)",
             "came too late wait for a place among the running calls: given up (CANCELLED)"}));
  EXPECT_EQ(line.began, Names{"runs"});
  line.End("runs");
  EXPECT_EQ(line.began, (Names{"runs", "next"}));
}

TEST(AdaptiveLimit, AHungCallLetsOthersPass) {
  LimitOptions options = kOnePlace();
  options.slow_unmeasured = 5s;
  Line line(options);
  line.Ask("hangs");
  line.Ask("other");
  line.Ask("third");
  line.loop.Advance(4s);
  EXPECT_EQ(line.began, Names{"hangs"});
  line.loop.Advance(1s);
  EXPECT_EQ(line.began, (Names{"hangs", "other"}));
  line.loop.Advance(5s);
  EXPECT_EQ(line.began, (Names{"hangs", "other", "third"}));
}

TEST(AdaptiveLimit, CallsThatAnswerAtOnceDoNotPileUpOnTheStack) {
  FakeClock clock;
  FakeLoop loop(clock);
  AdaptiveLimit limit(clock, loop, kOnePlace());
  std::optional<Permit> first;
  limit.Begin(0, After(clock, 1h),
              [&](StatusOr<Permit> permit) { first.emplace(std::move(*permit)); });
  constexpr int kCalls = 500;
  int depth = 0, deepest = 0, ended = 0;
  for (int i = 0; i < kCalls; ++i)
    limit.Begin(0, After(clock, 1h), [&](StatusOr<Permit> permit) {
      deepest = std::max(deepest, ++depth);
      { const Permit ends = std::move(*permit); }
      ++ended;
      --depth;
    });
  first.reset();
  EXPECT_EQ(ended, kCalls);
  EXPECT_EQ(deepest, 1);
}

}  // namespace
}  // namespace splitlet::exec
