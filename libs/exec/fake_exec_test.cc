#include "libs/exec/fake_exec.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "libs/exec/periodic.h"
#include "libs/exec/work_queue.h"

namespace splitlet::exec {
namespace {

using Names = std::vector<std::string>;

TEST(FakeLoop, RunsWhatIsDueByTimeThenByPostingAndAllItPosts) {
  FakeClock clock;
  FakeLoop loop(clock);
  Names ran;
  loop.RunAfter(2s, [&] { ran.push_back("late"); });
  loop.RunAfter(1s, [&] {
    ran.push_back("early");
    loop.Post([&] { ran.push_back("posted by early"); });
    loop.RunAfter(500ms, [&] { ran.push_back("timer of early"); });
  });
  loop.RunAfter(1s, [&] { ran.push_back("early too"); });
  loop.RunAfter(10s, [&] { ran.push_back("never"); });
  const auto start = clock.Now();
  loop.Advance(5s);
  EXPECT_EQ(ran, (Names{"early", "early too", "posted by early", "timer of early", "late"}));
  EXPECT_EQ(clock.Now() - start, Duration{5s});
}

TEST(FakeLoop, ACancelledTimerDoesNotRun) {
  FakeClock clock;
  FakeLoop loop(clock);
  int ran = 0;
  const TimerId timer = loop.RunAfter(1s, [&] { ++ran; });
  loop.CancelTimer(timer);
  loop.CancelTimer(0);
  loop.Advance(2s);
  EXPECT_EQ(ran, 0);
}

TEST(FakeStrands, OneKeyIsInOrderAndItsTasksAreNotTheLoop) {
  FakeClock clock;
  FakeLoop loop(clock);
  FakeStrands strands(loop);
  Names ran;
  strands.Run("a", [&] {
    EXPECT_FALSE(loop.IsCurrent());
    ran.push_back("a1");
    loop.Post([&] {
      EXPECT_TRUE(loop.IsCurrent());
      ran.push_back("result of a1");
    });
  });
  strands.Run("a", [&] { ran.push_back("a2"); });
  EXPECT_EQ(strands.Pending("a"), 2u);
  EXPECT_EQ(strands.Pending("b"), 0u);
  loop.RunUntilIdle();
  EXPECT_EQ(ran, (Names{"a1", "a2", "result of a1"}));
  EXPECT_EQ(strands.Pending("a"), 0u);
}

TEST(Scheduler, ACallThatTakesLongHoldsUpItsStrandOnly) {
  FakeClock clock;
  FakeLoop loop(clock);
  FakeStrands strands(loop);
  Names ran;
  strands.Run("slow", [&] {
    loop.scheduler().Charge(3s);
    loop.Post([&] { ran.push_back("slow done"); });
  });
  strands.Run("slow", [&] { ran.push_back("slow next"); });
  strands.Run("quick", [&] { ran.push_back("quick"); });
  loop.RunUntilIdle();
  EXPECT_EQ(ran, (Names{"quick"}));
  loop.Advance(2s);
  EXPECT_EQ(ran, (Names{"quick"}));
  loop.Advance(1s);
  EXPECT_EQ(ran.size(), 3u);
}

TEST(Scheduler, ProcessesShareTimeAndCrashPauseAndDelayAlone) {
  FakeClock clock;
  Scheduler all(clock);
  FakeLoop a(all, all.NewOwner("a"));
  FakeLoop b(all, all.NewOwner("b"));
  FakeLoop c(all, all.NewOwner("c"));
  Names ran;
  for (auto* loop : {&a, &b, &c}) {
    const std::string name = loop == &a ? "a" : loop == &b ? "b" : "c";
    loop->RunAfter(1s, [&ran, name] { ran.push_back(name); });
  }
  all.Drop(a.owner());
  all.Pause(b.owner());
  all.Delay(c.owner(), 2s);
  a.Post([&] { ran.push_back("a after its death"); });
  all.Advance(1s);
  EXPECT_EQ(ran, Names{});
  all.Advance(1s);
  EXPECT_EQ(ran, Names{"c"});
  all.Resume(b.owner());
  all.RunUntilIdle();
  EXPECT_EQ(ran, (Names{"c", "b"}));
  EXPECT_FALSE(all.alive(a.owner()));
}

TEST(Scheduler, ACrashEndsTheStepWhereItHappensAndIsTold) {
  FakeClock clock;
  Scheduler all(clock);
  FakeLoop a(all, all.NewOwner("a"));
  bool after_crash = false;
  int crashes = 0;
  Names steps;
  all.SetBeforeStep(
      [&](const Scheduler::Step& step) { steps.push_back(step.name + "/" + step.strand); });
  all.SetAfterStep([&](const Scheduler::Step&, bool crashed) { crashes += crashed ? 1 : 0; });
  a.Post([&] {
    a.Post([&] { after_crash = true; });
    throw Scheduler::CrashedHere{};
  });
  all.RunUntilIdle();
  EXPECT_FALSE(after_crash);
  EXPECT_EQ(crashes, 1);
  EXPECT_EQ(steps, Names{"a/"});
}

Names RunWithSeed(uint64_t seed) {
  FakeClock clock;
  FakeLoop loop(clock);
  FakeStrands strands(loop);
  Random random(seed);
  loop.scheduler().SetRandom(&random);
  Names ran;
  for (const std::string key : {"a", "b", "c", "d"}) {
    for (const std::string n : {"1", "2"})
      strands.Run(key, [&ran, key, n] { ran.push_back(key + n); });
  }
  loop.RunUntilIdle();
  return ran;
}

TEST(Scheduler, TheSeedAloneDecidesTheOrderOfReadyLanes) {
  std::set<Names> orders;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Names ran = RunWithSeed(seed);
    EXPECT_EQ(ran, RunWithSeed(seed));
    for (const std::string key : {"a", "b", "c", "d"}) {
      EXPECT_LT(std::find(ran.begin(), ran.end(), key + "1"),
                std::find(ran.begin(), ran.end(), key + "2"));
    }
    orders.insert(ran);
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST(Periodic, RunsEachPeriodAndAtOnceWhenKicked) {
  FakeClock clock;
  FakeLoop loop(clock);
  int ran = 0;
  {
    Periodic periodic(loop, 10s, [&] { ++ran; });
    loop.Advance(9s);
    EXPECT_EQ(ran, 0);
    loop.Advance(1s);
    EXPECT_EQ(ran, 1);
    periodic.Kick();
    loop.RunUntilIdle();
    EXPECT_EQ(ran, 2);
    loop.Advance(9s);
    EXPECT_EQ(ran, 2);
    periodic.SetPeriod(1s);
    loop.Advance(3s);
    EXPECT_EQ(ran, 5);
  }
  loop.Advance(60s);
  EXPECT_EQ(ran, 5);
}

TEST(Periodic, RoundsOfAllProcessesEndTogether) {
  struct Case {
    const char* name;
    Duration now, period, want;
  };
  const Case cases[] = {
      {"from within a second to its end", 1000'300ms, 1s, 700ms},
      {"a whole second later from its start", 1000s, 1s, 1s},
      {"no more than a second is taken from a long period", 1000'300ms, 60s, 59'700ms},
      {"fractions of a second end on their multiples", 1000'300ms, 250ms, 200ms},
      {"a period that is neither stays as it is", 1000'300ms, 1500ms, 1500ms},
      {"nor does one of 300 ms", 1000'300ms, 300ms, 300ms},
  };
  for (const auto& c : cases) EXPECT_EQ(UntilRound(c.now, c.period), c.want) << c.name;
}

TEST(Periodic, LateRoundsDoNotMoveTheNext) {
  FakeClock clock;
  FakeLoop loop(clock);
  std::vector<Duration> at;
  clock.Advance(400ms);
  const Periodic periodic(loop, 2s, [&] {
    at.push_back(clock.Now().monotonic);
    loop.scheduler().Charge(100ms);
  });
  loop.Advance(6s);
  EXPECT_EQ(at, (std::vector<Duration>{1002s, 1004s, 1006s}));
}

TEST(WorkQueue, AKeyWaitsOnceAndKeepsTheEarlierTime) {
  FakeClock clock;
  FakeLoop loop(clock);
  Names worked;
  WorkQueue queue(loop, clock, [&](const std::string& key) { worked.push_back(key); });
  queue.Add("a", 5s);
  queue.Add("a", 1s);
  queue.Add("a", 9s);
  queue.Add("b", 2s);
  queue.Add("gone", 1s);
  queue.Remove("gone");
  EXPECT_EQ(queue.size(), 2u);
  loop.Advance(1s);
  EXPECT_EQ(worked, Names{"a"});
  loop.Advance(20s);
  EXPECT_EQ(worked, (Names{"a", "b"}));
  EXPECT_FALSE(queue.Contains("a"));
}

TEST(WorkQueue, WorkMayAddItsOwnKeyAgain) {
  FakeClock clock;
  FakeLoop loop(clock);
  int worked = 0;
  WorkQueue* self = nullptr;
  WorkQueue queue(loop, clock, [&](const std::string& key) {
    if (++worked < 3) self->Add(key);
  });
  self = &queue;
  queue.Add("a");
  loop.RunUntilIdle();
  EXPECT_EQ(worked, 3);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(Backoff, DoublesToItsMaximumAndStartsAnewWhenUnused) {
  FakeClock clock;
  Backoff backoff(clock, {.initial = 10s, .max = 60s});
  for (auto want : {10s, 20s, 40s, 60s, 60s}) {
    EXPECT_EQ(backoff.Next("a"), Duration{want});
    EXPECT_EQ(backoff.Remaining("a"), Duration{want});
    clock.Advance(want);
    EXPECT_EQ(backoff.Remaining("a"), Duration{0});
  }
  EXPECT_EQ(backoff.Next("b"), Duration{10s});
  clock.Advance(121s);
  EXPECT_EQ(backoff.Next("a"), Duration{10s});
  backoff.Collect();
  EXPECT_EQ(backoff.size(), 1u);
  backoff.Reset("a");
  EXPECT_EQ(backoff.size(), 0u);
}

TEST(SchedulerTest, AStepThatWaitsLetsTheOthersGoOn) {
  FakeClock clock;
  Scheduler scheduler(clock);
  FakeLoop caller(scheduler, scheduler.NewOwner("caller"));
  FakeStrands strands(caller);
  FakeLoop server(scheduler, scheduler.NewOwner("server"));
  Names ran;
  bool answered = false;
  strands.Run("a", [&] {
    server.RunAfter(3s, [&] { answered = true; });
    const auto until = clock.Now() + 10s;
    ran.push_back(scheduler.WaitInStep(until, [&] { return answered; }) ? "answer" : "none");
    ran.push_back(scheduler.WaitInStep(until, [] { return false; }) ? "answer" : "none");
  });
  strands.Run("a", [&] { ran.push_back("next of a"); });
  caller.RunAfter(1s, [&] { ran.push_back("loop of the caller"); });
  const auto start = clock.Now();
  scheduler.RunUntilIdle();
  EXPECT_EQ(ran, (Names{"loop of the caller", "answer", "none", "next of a"}));
  EXPECT_EQ(clock.Now() - start, Duration{10s});
}

TEST(SchedulerTest, AStepWhoseOwnerDiesWhileItWaitsEndsThere) {
  FakeClock clock;
  Scheduler scheduler(clock);
  FakeLoop caller(scheduler, scheduler.NewOwner("caller"));
  FakeLoop killer(scheduler, scheduler.NewOwner("killer"));
  bool went_on = false;
  caller.Post([&] {
    killer.RunAfter(1s, [&] { scheduler.Drop(caller.owner()); });
    scheduler.WaitInStep(clock.Now() + 5s, [] { return false; });
    went_on = true;
  });
  scheduler.RunUntilIdle();
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace splitlet::exec
