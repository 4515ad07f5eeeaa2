#include "services/pod-worker/sync/limited_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/cri/trace_scope.h"
#include "libs/exec/fake_exec.h"
#include "libs/exec/loop_thread.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::pod_worker {
namespace {

using namespace std::chrono_literals;

/// A runtime whose calls stay until they are let go.
class BusyRuntime final : public cri::Runner, public cri::LongCalls {
 public:
  void BeginStopContainer(const cri::ContainerId& id, int64_t grace, Deadline deadline,
                          Stopped done) override {
    const std::lock_guard lock(mutex_);
    begun_.push_back({id.str(), cri::TraceScope::Current(), grace, deadline.at});
    stops_.push_back(std::move(done));
  }
  void BeginPullImage(const cri::PullOrder& order, Deadline, Pulled done) override {
    done("pulled " + order.image);
  }
  void BeginExecSync(const cri::ContainerId&, const cri::ExecCommand& command, Deadline,
                     Executed done) override {
    done(cri::ExecResult{.exit_code = static_cast<int32_t>(command.words.size())});
  }
  StatusOr<cri::SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig&, const std::string&,
                                         Deadline deadline) override {
    Stay(deadline);
    return cri::SandboxId("sandbox");
  }
  Status StopPodSandbox(const cri::SandboxId&, Deadline deadline) override {
    Stay(deadline);
    return OkStatus();
  }
  StatusOr<cri::ContainerId> CreateContainer(const cri::SandboxId&,
                                             const runtime::v1::ContainerConfig&,
                                             const runtime::v1::PodSandboxConfig&,
                                             Deadline deadline) override {
    Stay(deadline);
    return cri::ContainerId("container");
  }
  Status StartContainer(const cri::ContainerId&, Deadline deadline) override {
    Stay(deadline);
    return OkStatus();
  }
  Status StopContainer(const cri::ContainerId&, int64_t, Deadline deadline) override {
    Stay(deadline);
    return OkStatus();
  }

  void AwaitCalls(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= n; });
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    changed_.notify_all();
  }
  struct Begun {
    std::string id, trace;
    int64_t grace = 0;
    Clock::Time deadline;
  };
  std::vector<Begun> begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  size_t stops() {
    const std::lock_guard lock(mutex_);
    return stops_.size();
  }
  /// The first of those begun without waiting is over.
  void AnswerFirst(const Status& status) {
    Stopped done;
    {
      const std::lock_guard lock(mutex_);
      done = std::move(stops_.front());
      stops_.pop_front();
    }
    done(status);
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  bool could_be_cancelled() {
    const std::lock_guard lock(mutex_);
    return could_be_cancelled_;
  }

 private:
  void Stay(const Deadline& deadline) {
    std::unique_lock lock(mutex_);
    could_be_cancelled_ = could_be_cancelled_ || deadline.cancel != nullptr;
    most_ = std::max(most_, ++running_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return free_; });
    --running_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0, most_ = 0;
  bool free_ = false, could_be_cancelled_ = false;
  std::vector<Begun> begun_;
  std::deque<Stopped> stops_;
};

TEST(LimitedRunner, EachKindOfCallIsLimited) {
  constexpr int kLimit = 2, kCalls = 8;
  const Deadline soon = After(RealClock{}, 1min);
  const struct {
    const char* name;
    std::function<Status(LimitedRunner&)> call;
    int at_once;
  } kCases[] = {
      {"sandboxes", [&](auto& r) { return r.RunPodSandbox({}, "", soon).status(); }, kLimit},
      {"containers", [&](auto& r) { return r.CreateContainer({}, {}, {}, soon).status(); }, kLimit},
      {"starts", [&](auto& r) { return r.StartContainer({}, soon); }, kLimit},
      {"stops of sandboxes", [&](auto& r) { return r.StopPodSandbox({}, soon); }, kLimit},
      {"stops of containers", [&](auto& r) { return r.StopContainer({}, 30, soon); }, kLimit},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const RealClock clock;
    exec::LoopThread loop(clock);
    BusyRuntime runtime;
    LimitedRunner runner({runtime, runtime, clock, loop}, {.min = kLimit,
                                                           .max = kLimit,
                                                           .initial = kLimit,
                                                           .slow_at_least = 1h,
                                                           .slow_unmeasured = 1h});
    {
      std::vector<std::jthread> callers;
      for (int i = 0; i < kCalls; ++i)
        callers.emplace_back([&] { EXPECT_TRUE(c.call(runner).ok()); });
      runtime.AwaitCalls(c.at_once);
      runtime.LetGo();
    }
    EXPECT_EQ(runtime.most(), c.at_once);
  }
}

TEST(LimitedRunner, WhatMakesAndStartsIsGivenUpBeforeItsTurnOnly) {
  const struct {
    const char* name;
    std::function<Status(LimitedRunner&, const Deadline&)> call;
  } kCases[] = {
      {"sandbox", [](auto& r, const auto& at) { return r.RunPodSandbox({}, "", at).status(); }},
      {"container",
       [](auto& r, const auto& at) { return r.CreateContainer({}, {}, {}, at).status(); }},
      {"start", [](auto& r, const auto& at) { return r.StartContainer({}, at); }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Deadline soon{After(RealClock{}, 1min).at, std::make_shared<CancelToken>()};
    const RealClock clock;
    exec::LoopThread loop(clock);
    BusyRuntime runtime;
    LimitedRunner runner(
        {runtime, runtime, clock, loop},
        {.min = 1, .max = 1, .initial = 1, .slow_at_least = 1h, .slow_unmeasured = 1h});
    std::jthread begun([&] { EXPECT_EQ(c.call(runner, soon), OkStatus()); });
    runtime.AwaitCalls(1);
    std::jthread waits([&] { EXPECT_EQ(c.call(runner, soon).code(), StatusCode::kCancelled); });
    soon.cancel->Cancel();
    waits.join();
    EXPECT_FALSE(runtime.could_be_cancelled());
    runtime.LetGo();
    begun.join();
    EXPECT_EQ(runtime.most(), 1);
  }
}

/// One place for each kind, on virtual time.
struct OnePlace {
  FakeClock clock;
  exec::FakeLoop loop{clock};
  BusyRuntime runtime;
  LimitedRunner runner{{runtime, runtime, clock, loop}, {.min = 1, .max = 1, .initial = 1}};
  std::vector<std::string> told;

  /// No permit outlives its limit.
  ~OnePlace() {
    while (runtime.stops() > 0) runtime.AnswerFirst(Cancelled("the end"));
  }
  void Stop(const std::string& id, int64_t grace = 30,
            std::shared_ptr<CancelToken> cancel = nullptr) {
    runner.BeginStopContainer(
        cri::ContainerId(id), grace,
        {clock.Now() + std::chrono::seconds{grace} + 1min, std::move(cancel)},
        [this, id](const Status& stopped) { told.push_back(fmt::format("{} {}", id, stopped)); });
  }
  std::vector<std::string> Begun() {
    std::vector<std::string> ids;
    for (const auto& begun : runtime.begun()) ids.push_back(begun.id);
    return ids;
  }
};

TEST(LimitedRunner, AStopOfAContainerHoldsItsPlaceUntilItIsOver) {
  OnePlace place;
  place.Stop("a");
  place.Stop("b");
  EXPECT_EQ(place.Begun(), std::vector<std::string>{"a"});
  place.runtime.AnswerFirst(OkStatus());
  EXPECT_EQ(place.Begun(), (std::vector<std::string>{"a", "b"}));
  place.runtime.AnswerFirst(Unavailable("gone"));
  EXPECT_EQ(place.told, (std::vector<std::string>{"a OK", "b gone (UNAVAILABLE)"}));
}

TEST(LimitedRunner, ContainersThatDoNotEndAreAllToldSoon) {
  OnePlace place;
  constexpr int kContainers = 50;
  for (int i = 0; i < kContainers; ++i) place.Stop(fmt::format("c{}", i));
  place.loop.Advance(5s);
  EXPECT_EQ(place.Begun().size(), kContainers) << "ten a second for each place";
  EXPECT_EQ(place.told, std::vector<std::string>{});
}

TEST(LimitedRunner, AStopThatIsCancelledBeforeItsTurnIsNotBegun) {
  OnePlace place;
  const auto cancel = std::make_shared<CancelToken>();
  place.Stop("a");
  place.Stop("b", 30, cancel);
  cancel->Cancel();
  place.runtime.AnswerFirst(OkStatus());
  EXPECT_EQ(place.Begun(), std::vector<std::string>{"a"});
  EXPECT_EQ(place.told, (std::vector<std::string>{"b stop not sent: given up (ABORTED)", "a OK"}));
}

TEST(LimitedRunner, ThoseWithTheLeastGraceAreToldFirst) {
  OnePlace place;
  place.Stop("runs");
  place.Stop("hour", 3600);
  place.Stop("five", 5);
  place.Stop("at once", 0);
  place.clock.Advance(11s);
  place.Stop("later", 0);
  while (place.runtime.stops() > 0) place.runtime.AnswerFirst(OkStatus());
  EXPECT_EQ(place.Begun(), (std::vector<std::string>{"runs", "at once", "five", "hour", "later"}));
}

TEST(LimitedRunner, TheTimeInLineIsTakenFromTheGraceDownToTheLeast) {
  const struct {
    const char* name;
    int64_t grace;
    Duration waits;
    int64_t left;
  } kCases[] = {
      {"no time", 30, 0s, 30},
      {"the end stays where it was", 30, 12s, 18},
      {"whole seconds, rounded up", 30, 11s + 700ms, 19},
      {"at least two seconds", 5, 12s, 2},
      {"one that is told again may have less", 1, 12s, 1},
      {"or none", 0, 12s, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    OnePlace place;
    place.Stop("a");
    place.Stop("b", c.grace);
    place.clock.Advance(c.waits);
    place.runtime.AnswerFirst(OkStatus());
    ASSERT_EQ(place.runtime.begun().size(), 2u);
    const auto begun = place.runtime.begun()[1];
    EXPECT_EQ(begun.grace, c.left);
    EXPECT_EQ(begun.deadline, place.clock.Now() + std::chrono::seconds{c.left} + 1min)
        << "the runtime has as long to answer as without a line";
  }
}

TEST(LimitedRunner, AStopThatWaitedKeepsItsTrace) {
  OnePlace place;
  place.Stop("a");
  {
    const cri::TraceScope trace("of b");
    place.Stop("b");
  }
  place.runtime.AnswerFirst(OkStatus());
  ASSERT_EQ(place.runtime.begun().size(), 2u);
  EXPECT_EQ(place.runtime.begun()[1].trace, "of b");
}

TEST(LimitedRunner, PullsAndCommandsDoNotWaitHere) {
  OnePlace place;
  place.Stop("a");
  std::string pulled;
  place.runner.BeginPullImage({.image = "i", .sandbox_config = {}}, After(place.clock, 1min),
                              [&](const StatusOr<std::string>& answer) { pulled = *answer; });
  int32_t code = 0;
  place.runner.BeginExecSync(
      cri::ContainerId("c"), {.words = {"a", "b"}}, After(place.clock, 1min),
      [&](const StatusOr<cri::ExecResult>& answer) { code = answer->exit_code; });
  EXPECT_EQ(pulled, "pulled i");
  EXPECT_EQ(code, 2);
}

}  // namespace
}  // namespace splitlet::pod_worker
