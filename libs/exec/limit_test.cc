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

/// The limit for a runtime whose calls take `alone` each if up to `cores` of them run, and share
/// the cores beyond.
double LimitFoundFor(Duration alone, double cores) {
  LimitCore core({.initial = 2});
  FakeClock clock;
  for (int round = 0; round < 150; ++round) {
    std::vector<LimitCore::Ticket> batch;
    while (core.MayStart(clock.Now())) batch.push_back(core.Start(clock.Now()));
    const double slower = std::max(1.0, static_cast<double>(batch.size()) / cores);
    clock.Advance(std::chrono::duration_cast<Duration>(alone * slower));
    for (const auto ticket : batch) core.Finish(ticket, clock.Now(), true);
  }
  return core.limit();
}

TEST(LimitCore, FindsWhatTheRuntimeCanDo) {
  const struct {
    const char* name;
    Duration alone;
    double cores, at_least, at_most;
  } kCases[] = {
      {"two cores take a few calls at the same time", 20ms, 2, 5, 8},
      {"also of calls that take long", 3s, 2, 5, 8},
      {"eight cores take more", 20ms, 8, 18, 24},
      {"calls that only wait reach the maximum", 20ms, 1000, 64, 64},
      {"a core that never had fewer than two at once takes them for alone", 20ms, 0.5, 5, 8},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const double found = LimitFoundFor(c.alone, c.cores);
    EXPECT_GE(found, c.at_least);
    EXPECT_LE(found, c.at_most);
  }
}

TEST(LimitCore, BeginsWithinItsBounds) {
  EXPECT_EQ(LimitCore({.max = 4, .initial = 100}).limit(), 4);
  EXPECT_EQ(LimitCore({.min = 3, .initial = 1}).limit(), 3);
}

struct Calls {
  int count = 0;
  Duration took{0};
};

/// Makes the calls one after the other.
void FinishOnes(LimitCore& core, FakeClock& clock, Calls calls) {
  for (int i = 0; i < calls.count; ++i) {
    const auto ticket = core.Start(clock.Now());
    clock.Advance(calls.took);
    core.Finish(ticket, clock.Now(), true);
  }
}

TEST(LimitCore, AHungCallStopsCounting) {
  LimitCore core({.initial = 2});
  FakeClock clock;
  FinishOnes(core, clock, {4, 50ms});
  const auto hung = core.Start(clock.Now());
  const auto hung_too = core.Start(clock.Now());
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

TEST(LimitCore, SlowCallsTooHaveAnEnd) {
  LimitCore core({.initial = 2, .max_running = 3});
  FakeClock clock;
  core.Start(clock.Now());
  core.Start(clock.Now());
  clock.Advance(1min);
  core.Start(clock.Now());
  clock.Advance(1min);
  EXPECT_FALSE(core.MayStart(clock.Now()));
}

TEST(LimitCore, WhatWaitsCountsForAMomentAndLessWhenMostWaitLong) {
  const struct {
    const char* name;
    int quick, slow;  // calls before: of 50 ms, and then of 30 s
    Duration counts_for;
  } kCases[] = {
      {"nothing is known", 0, 0, 100ms},
      {"the last ones soon ended by themselves", 8, 0, 200ms},
      {"a few waited", 8, 3, 200ms},
      {"most of them waited", 8, 6, 100ms},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    LimitCore core({.min = 1, .initial = 1, .waits = true});
    FakeClock clock;
    FinishOnes(core, clock, {c.quick, 50ms});
    FinishOnes(core, clock, {c.slow, 30s});
    core.Start(clock.Now());
    EXPECT_FALSE(core.MayStart(clock.Now()));
    EXPECT_EQ(core.NextSlow(clock.Now()), clock.Now() + c.counts_for);
    clock.Advance(c.counts_for);
    EXPECT_TRUE(core.MayStart(clock.Now()));
  }
}

/// The time until the last of so many waiting calls starts; each of them takes `took`.
Duration TimeToBegin(int calls, Duration took, Duration before) {
  LimitCore core({.initial = 4, .max_running = 8, .waits = true});
  FakeClock clock;
  FinishOnes(core, clock, {8, before});
  const auto began = clock.Now();
  std::multimap<Clock::Time, LimitCore::Ticket> running;  // by their end
  for (int told = 0; told < calls; clock.Advance(10ms)) {
    while (!running.empty() && running.begin()->first <= clock.Now())
      core.Finish(running.extract(running.begin()).mapped(), clock.Now(), true);
    for (; told < calls && core.MayStart(clock.Now()); ++told)
      running.emplace(clock.Now() + took, core.Start(clock.Now()));
  }
  return clock.Now() - began;
}

TEST(LimitCore, HowLongCallsWaitDoesNotSayWhenTheLastIsBegun) {
  for (const Duration before : {Duration{50ms}, Duration{30s}})
    for (const Duration took :
         {Duration{50ms}, Duration{200ms}, Duration{500ms}, Duration{990ms}, Duration{30s}}) {
      SCOPED_TRACE(fmt::format("{} ms, before {} ms", took / 1ms, before / 1ms));
      EXPECT_LE(TimeToBegin(200, took, before), 10s + 500ms) << "200 ms for each four of them";
    }
}

TEST(LimitCore, ThatAllOfThemWaitLongIsKnownBeforeTheFirstHasEnded) {
  EXPECT_LE(TimeToBegin(200, 30s, 50ms), 6s + 500ms) << "100 ms for each four, after a second";
}

/// Asks for places on virtual time, and remembers who got one.
class Line {
 public:
  explicit Line(LimitOptions options) : limit(clock, loop, std::move(options)) {}

  void Ask(const std::string& name, Duration later = {}, Duration patience = 1h,
           std::shared_ptr<CancelToken> cancel = nullptr) {
    limit.Begin({clock.Now() + patience, std::move(cancel)}, later,
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

TEST(AdaptiveLimit, WaitersStartInTheOrderInWhichTheyCameOrAsIfTheyCameLater) {
  Line line(kOnePlace());
  line.Ask("runs");
  line.Ask("has time", 10s);
  line.Ask("has time too", 10s);
  line.clock.Advance(9s);
  line.Ask("overtakes");
  line.clock.Advance(2s);
  line.Ask("last");
  for (const std::string ends : {"runs", "overtakes", "has time", "has time too"}) line.End(ends);
  EXPECT_EQ(line.began, (Names{"runs", "overtakes", "has time", "has time too", "last"}));
}

TEST(AdaptiveLimit, WhoWaitsTooLongIsTold) {
  Line line(kOnePlace());
  line.Ask("runs");
  line.Ask("impatient", {}, 5s);
  line.Ask("patient");
  line.loop.Advance(4s);
  EXPECT_EQ(line.gone, Names{});
  line.loop.Advance(1s);
  EXPECT_EQ(line.gone, Names{"impatient too many calls run (DEADLINE_EXCEEDED)"});
  line.End("runs");
  EXPECT_EQ(line.began, (Names{"runs", "patient"}));
}

TEST(AdaptiveLimit, WhoIsCancelledLeavesTheLineAndWhoRunsStays) {
  Line line(kOnePlace());
  const auto cancel = std::make_shared<CancelToken>();
  line.Ask("runs", {}, 1h, cancel);
  line.Ask("waits", {}, 1h, cancel);
  line.Ask("next");
  cancel->Cancel();
  line.Ask("came too late", {}, 1h, cancel);
  EXPECT_EQ(line.gone, (Names{"waits given up (CANCELLED)", "came too late given up (CANCELLED)"}));
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
  limit.Begin(After(clock, 1h), {},
              [&](StatusOr<Permit> permit) { first.emplace(std::move(*permit)); });
  constexpr int kCalls = 500;
  int depth = 0, deepest = 0, ended = 0;
  for (int i = 0; i < kCalls; ++i)
    limit.Begin(After(clock, 1h), {}, [&](StatusOr<Permit> permit) {
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
