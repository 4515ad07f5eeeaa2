#include "services/pod-worker/pod/termination.h"

#include <gtest/gtest.h>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {
namespace {

using StopProgress = Termination::Progress;

ContainerStop Stop(const std::string& id) { return {id, id, "", false}; }

std::vector<std::pair<std::string, int64_t>> Begin(Termination& end, Clock::Time now) {
  std::vector<std::pair<std::string, int64_t>> orders;
  for (const auto& order : end.BeginStep(now))
    orders.emplace_back(order.container.id, order.grace_seconds);
  return orders;
}

using Orders = std::vector<std::pair<std::string, int64_t>>;

TEST(PodTermination, AStepBeginsWhenTheOneBeforeHasEnded) {
  FakeClock clock;
  const Clock::Time deadline = clock.Now() + 30s;
  Termination end;
  end.BeginRun({.steps = {{Stop("a"), Stop("b")}, {Stop("sidecar")}}, .grace_seconds = {}},
               deadline);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 30}, {"b", 30}}));
  EXPECT_EQ(end.OnStopped("a", OkStatus(), false), StopProgress::kWaits);
  EXPECT_EQ(end.OnStopped("a", OkStatus(), false), StopProgress::kNotAwaited) << "it has answered";
  EXPECT_EQ(end.OnStopped("b", Unavailable("no answer"), false), StopProgress::kNextStep);
  EXPECT_EQ(Begin(end, clock.Now() + 20s), (Orders{{"sidecar", 10}}));
  EXPECT_EQ(end.OnStopped("sidecar", OkStatus(), false), StopProgress::kDone);
  const auto result = end.EndRun();
  EXPECT_FALSE(result.cancelled);
  EXPECT_TRUE(result.with_pod);
  EXPECT_EQ(result.errors.size(), 1u);
  EXPECT_FALSE(end.IsStopping());
}

TEST(PodTermination, AStepDoesNotWaitForWhatIsAsideTheEndDoes) {
  FakeClock clock;
  Termination end;
  ContainerStop debug = Stop("debug");
  debug.aside = true;
  end.BeginRun({.steps = {{Stop("a"), debug}, {Stop("sidecar")}}, .grace_seconds = {}},
               clock.Now() + 30s);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 30}, {"debug", 30}}));
  EXPECT_EQ(end.OnStopped("a", OkStatus(), true), StopProgress::kNextStep);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"sidecar", 30}}));
  EXPECT_EQ(end.OnStopped("sidecar", OkStatus(), true), StopProgress::kWaits);
  EXPECT_EQ(end.OnStopped("debug", OkStatus(), true), StopProgress::kDone);
  end.EndRun();
  end.BeginRun({.steps = {{Stop("b"), debug}}, .grace_seconds = {}}, clock.Now() + 30s);
  Begin(end, clock.Now());
  EXPECT_EQ(end.OnStopped("debug", OkStatus(), true), StopProgress::kWaits);
  EXPECT_EQ(end.OnStopped("b", OkStatus(), true), StopProgress::kDone);
  end.EndRun();
}

TEST(PodTermination, AStepThatFailedWhileThereIsTimeIsTheLastOfItsRun) {
  FakeClock clock;
  const Clock::Time deadline = clock.Now() + 30s;
  Termination end;
  end.BeginRun({.steps = {{Stop("a"), Stop("b")}, {Stop("sidecar")}}, .grace_seconds = {}},
               deadline);
  Begin(end, clock.Now());
  EXPECT_EQ(end.OnStopped("a", Unavailable("no answer"), true), StopProgress::kWaits);
  EXPECT_EQ(end.OnStopped("b", OkStatus(), true), StopProgress::kDone);
  EXPECT_EQ(end.EndRun().errors.size(), 1u);
}

TEST(PodTermination, WhoWasToldToEndGetsNoSecondGrace) {
  FakeClock clock;
  const Clock::Time past = clock.Now() - 5s;
  Termination end;
  end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = {}}, past);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 2}})) << "the least that a container gets";
  EXPECT_EQ(end.OnStopped("a", Unavailable("no answer"), false), StopProgress::kDone);
  end.EndRun();
  end.BeginRun({.steps = {{Stop("a"), Stop("new")}}, .grace_seconds = {}}, past);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 0}, {"new", 2}}));
}

TEST(PodTermination, WhoseTurnHadNotComeWhenItsStopWasGivenUpHasAllOfItsGrace) {
  FakeClock clock;
  Termination end;
  end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = {}}, clock.Now() + 30s);
  Begin(end, clock.Now());
  end.Cancel();
  EXPECT_EQ(end.OnStopped("a", Aborted("not told to end"), true), StopProgress::kDone);
  end.EndRun();
  end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = {}}, clock.Now() - 5s);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 2}}));
  end.Cancel();
  end.OnStopped("a", Cancelled("told, and given up"), true);
  end.EndRun();
  for (const char* const why : {"it was told by then", "and that is not forgotten"}) {
    end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = {}}, clock.Now() - 5s);
    EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 0}})) << why;
    end.Cancel();
    end.OnStopped("a", Aborted("not told to end"), true);
    end.EndRun();
  }
}

TEST(PodTermination, AnEarlierStartMayHaveToldTheFirstStep) {
  FakeClock clock;
  const Clock::Time past = clock.Now() - 5s;
  Termination end;
  end.Resume();
  end.BeginRun({.steps = {{Stop("a")}, {Stop("sidecar")}}, .grace_seconds = {}}, past);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 0}}));
  EXPECT_EQ(end.OnStopped("a", OkStatus(), false), StopProgress::kNextStep);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"sidecar", 2}}));
}

TEST(PodTermination, AContainerThatIsReplacedHasAGraceOfItsOwn) {
  FakeClock clock;
  Termination end;
  end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = 7}, clock.Now() + 7s);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 7}}));
  EXPECT_EQ(end.OnStopped("a", OkStatus(), false), StopProgress::kDone);
  EXPECT_FALSE(end.EndRun().with_pod);
  end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = {}}, clock.Now() - 5s);
  EXPECT_EQ(Begin(end, clock.Now()), (Orders{{"a", 2}})) << "it was not told to end with the pod";
}

TEST(PodTermination, AHookIsRememberedUntilItsContainerHasStopped) {
  FakeClock clock;
  Termination end;
  const auto announced = [&](const Status& stopped) {
    end.BeginRun({.steps = {{Stop("a")}}, .grace_seconds = 30}, clock.Now() + 30s);
    const auto orders = end.BeginStep(clock.Now());
    end.OnStopped("a", stopped, true);
    end.EndRun();
    return orders.at(0).container.announced;
  };
  end.OnHookBegun("a");
  EXPECT_FALSE(end.OnHookEnded("a", clock.Now()));
  EXPECT_TRUE(announced(Unavailable("no answer")));
  EXPECT_TRUE(announced(OkStatus()));
  EXPECT_FALSE(announced(OkStatus())) << "a pod whose containers come and go keeps none of them";
}

TEST(PodTermination, ACancelledRunEndsWithItsStep) {
  FakeClock clock;
  Termination end;
  end.Cancel();
  end.BeginRun({.steps = {{Stop("a")}, {Stop("sidecar")}}, .grace_seconds = {}}, clock.Now() + 30s);
  Begin(end, clock.Now());
  end.Cancel();
  EXPECT_TRUE(end.cancel()->cancelled());
  EXPECT_EQ(end.OnStopped("a", Cancelled("given up"), false), StopProgress::kDone);
  const auto result = end.EndRun();
  EXPECT_TRUE(result.cancelled);
  EXPECT_TRUE(result.errors.empty());
}

}  // namespace
}  // namespace splitlet::pod_worker
