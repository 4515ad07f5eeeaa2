#include "libs/cri/fake_runtime.h"

#include <gtest/gtest.h>

#include "libs/base/cancel.h"
#include "libs/cri/fake_world.h"
#include "libs/cri/test_pod.h"

namespace splitlet::cri {
namespace {

class FakeRuntimeTest : public ::testing::Test {
 protected:
  Deadline Soon() { return After(clock_, 120s); }
  ContainerId StartOne(FakeRuntime& runtime, const TestPod& pod, const std::string& name,
                       uint32_t attempt = 0) {
    runtime.AddImage("busybox");
    if (sandbox_.empty()) sandbox_ = *runtime.RunPodSandbox(pod.Config(), "", Soon());
    const auto id =
        runtime.CreateContainer(sandbox_, pod.ContainerConfig(name, attempt), pod.Config(), Soon());
    EXPECT_TRUE(id.ok()) << id.status();
    EXPECT_TRUE(runtime.StartContainer(*id, Soon()).ok());
    return *id;
  }

  FakeClock clock_;
  SandboxId sandbox_;
  std::unique_ptr<Waiter> waiter_ = MakeAdvancingWaiter(clock_);
  FakeRuntime runtime_{clock_, {.waiter = waiter_.get()}};
  FakeRuntime timeless_{clock_};
  TestPod pod_{"web", "uid-1"};
};

TEST_F(FakeRuntimeTest, AContainerExitsWhenTheClockSaysSo) {
  runtime_.SetBehaviour("uid-1", "app",
                        {{.exit_after = 10s, .exit_code = 3, .message = "bad"}, {}});
  const ContainerId id = StartOne(runtime_, pod_, "app");
  const int64_t started = ToNanos(clock_.WallNow());
  EXPECT_EQ(runtime_.NextDue(), clock_.Now() + 10s);
  clock_.Advance(9s);
  EXPECT_EQ(runtime_.ContainerStatus(id, Soon())->state, ContainerState::kRunning);
  clock_.Advance(5s);
  const Container dead = *runtime_.ContainerStatus(id, Soon());
  EXPECT_EQ(dead.state, ContainerState::kExited);
  EXPECT_EQ(dead.exit_code, 3);
  EXPECT_EQ(dead.reason, "Error");
  EXPECT_EQ(dead.message, "bad");
  EXPECT_EQ(dead.finished_at_ns, started + Duration{10s}.count());
  // the second start takes the second behaviour
  const ContainerId next = StartOne(runtime_, pod_, "app", 1);
  clock_.Advance(1h);
  EXPECT_EQ(runtime_.ContainerStatus(next, Soon())->state, ContainerState::kRunning);
}

TEST_F(FakeRuntimeTest, StoppingTakesTheGraceThatTheContainerNeeds) {
  const struct {
    const char* name;
    std::optional<Duration> term_after;
    int64_t grace;
    Duration takes;
    int32_t code;
  } kCases[] = {
      {"it ends on TERM immediately", Duration{0}, 30, 0s, 143},
      {"it ends on TERM after a while", Duration{5s}, 30, 5s, 143},
      {"it takes longer than its grace", Duration{50s}, 30, 30s, 137},
      {"it ignores TERM", std::nullopt, 20, 20s, 137},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeRuntime runtime(clock_, {.waiter = waiter_.get()});
    sandbox_ = {};
    runtime.SetBehaviour("", "", {{.term_after = c.term_after}});
    const ContainerId id = StartOne(runtime, pod_, "app");
    const Clock::Time before = clock_.Now();
    EXPECT_TRUE(runtime.StopContainer(id, c.grace, Soon()).ok());
    EXPECT_EQ(clock_.Now() - before, c.takes);
    EXPECT_EQ(runtime.ContainerStatus(id, Soon())->exit_code, c.code);
  }
}

TEST_F(FakeRuntimeTest, WithoutAWaiterACallTakesNoTime) {
  timeless_.SetBehaviour("", "", {{.term_after = std::nullopt}});
  const ContainerId id = StartOne(timeless_, pod_, "app");
  const Clock::Time before = clock_.Now();
  EXPECT_TRUE(timeless_.StopContainer(id, 30, Soon()).ok());
  EXPECT_EQ(timeless_.ContainerStatus(id, Soon())->exit_code, 137);
  timeless_.AddFault({.kind = Fault::Kind::kHang});
  EXPECT_EQ(timeless_.Version(Soon()).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(clock_.Now(), before);
}

TEST_F(FakeRuntimeTest, AStopThatTimesOutGoesOnInTheRuntime) {
  runtime_.SetBehaviour("", "", {{.term_after = std::nullopt}});
  const ContainerId id = StartOne(runtime_, pod_, "app");
  EXPECT_EQ(runtime_.StopContainer(id, 30, After(clock_, 10s)).code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runtime_.Running("uid-1"), std::vector<std::string>{"app"});
  clock_.Advance(20s);
  EXPECT_TRUE(runtime_.Running("uid-1").empty());
}

TEST_F(FakeRuntimeTest, FaultsActOnTheirMethodAndPod) {
  StartOne(runtime_, pod_, "app");
  const SandboxId other = *runtime_.RunPodSandbox(TestPod{"db", "uid-2"}.Config(), "", Soon());
  runtime_.AddFault(
      {.method = "PodSandboxStatus", .pod = "uid-1", .code = StatusCode::kInternal, .times = 1});
  EXPECT_TRUE(runtime_.PodSandboxStatus(other, Soon()).ok());
  EXPECT_EQ(runtime_.PodSandboxStatus(sandbox_, Soon()).status().code(), StatusCode::kInternal);
  EXPECT_TRUE(runtime_.PodSandboxStatus(sandbox_, Soon()).ok());

  const Clock::Time before = clock_.Now();
  const int slow =
      runtime_.AddFault({.method = "Version", .kind = Fault::Kind::kDelay, .delay = 3s});
  EXPECT_TRUE(runtime_.Version(Soon()).ok());
  EXPECT_EQ(clock_.Now() - before, 3s);
  EXPECT_EQ(runtime_.Version(After(clock_, 1s)).status().code(), StatusCode::kDeadlineExceeded);
  runtime_.RemoveFault(slow);

  runtime_.AddFault({.method = "RunPodSandbox", .kind = Fault::Kind::kLoseResponse, .times = 1});
  const TestPod third{"job", "uid-3"};
  EXPECT_EQ(runtime_.RunPodSandbox(third.Config(), "", Soon()).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(runtime_.RunPodSandbox(third.Config(), "", Soon()).status().code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(runtime_.ListPodSandbox("uid-3", Soon())->size(), 1u);
}

TEST_F(FakeRuntimeTest, AHangEndsWithItsDeadlineOrItsCancellation) {
  runtime_.AddFault({.method = "Version", .kind = Fault::Kind::kHang});
  const Clock::Time before = clock_.Now();
  EXPECT_EQ(runtime_.Version(After(clock_, 5s)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(clock_.Now() - before, 5s + 0ns);
  Deadline given_up = Soon();
  given_up.cancel = std::make_shared<CancelToken>();
  given_up.cancel->Cancel();
  EXPECT_EQ(runtime_.Version(given_up).status().code(), StatusCode::kCancelled);
  runtime_.ClearFaults();
  EXPECT_TRUE(runtime_.Version(Soon()).ok());
}

TEST_F(FakeRuntimeTest, EventsTellWhatHappenedAndCanBeLostDoubledAndEarly) {
  std::vector<std::string> seen;
  Status ended;
  const auto note = [&](const ContainerEvent& event) {
    seen.push_back(fmt::format("{} {}", static_cast<int>(event.kind), event.pod_uid));
  };
  ASSERT_TRUE(runtime_.Subscribe({note, [&](const Status& status) { ended = status; }}).ok());
  const ContainerId id = StartOne(runtime_, pod_, "app");
  EXPECT_EQ(seen, (std::vector<std::string>{"0 uid-1", "1 uid-1", "0 uid-1", "1 uid-1"}));
  seen.clear();
  runtime_.SetExitLag(50ms);
  runtime_.DoubleEvents(1);
  ASSERT_TRUE(runtime_.ExitContainer("uid-1", "app", 0).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"3 uid-1", "3 uid-1"}));
  EXPECT_EQ(runtime_.ContainerStatus(id, Soon())->state, ContainerState::kRunning);
  clock_.Advance(50ms);
  EXPECT_EQ(runtime_.ContainerStatus(id, Soon())->state, ContainerState::kExited);
  seen.clear();
  runtime_.DropEvents(1);
  EXPECT_TRUE(runtime_.RemoveContainer(id, Soon()).ok());
  EXPECT_TRUE(seen.empty());
  runtime_.SetDown(true);
  EXPECT_EQ(ended.code(), StatusCode::kUnavailable);
  EXPECT_EQ(runtime_.Version(Soon()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(runtime_.Subscribe({note, {}}).status().code(), StatusCode::kUnavailable);
}

TEST_F(FakeRuntimeTest, WhatNoAgentMayDoIsNoted) {
  const ContainerId id = StartOne(runtime_, pod_, "app");
  EXPECT_TRUE(runtime_.Violations().empty());
  StartOne(runtime_, pod_, "app", 1);
  EXPECT_EQ(runtime_.Violations().size(), 1u);
  EXPECT_TRUE(runtime_.RemoveContainer(id, Soon()).ok());
  EXPECT_EQ(runtime_.Violations().size(), 2u);
}

TEST_F(FakeRuntimeTest, ImagesArePulledAndMissed) {
  const auto config = pod_.Config();
  sandbox_ = *runtime_.RunPodSandbox(config, "", Soon());
  const auto missing =
      runtime_.CreateContainer(sandbox_, pod_.ContainerConfig("app", 0), config, Soon());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  runtime_.SetPull("busybox", {.error = PermissionDenied("no")});
  EXPECT_EQ(runtime_.PullImage("busybox", nullptr, config, Soon()).status().code(),
            StatusCode::kPermissionDenied);
  runtime_.SetPull("busybox:latest", {.takes = 30s, .size_bytes = 77});
  const Clock::Time before = clock_.Now();
  const auto ref = runtime_.PullImage("docker.io/library/busybox", nullptr, config, Soon());
  ASSERT_TRUE(ref.ok());
  EXPECT_EQ(clock_.Now() - before, 30s);
  EXPECT_EQ((*runtime_.ImageStatus({"busybox"}, Soon()))->id, *ref);
  EXPECT_EQ((*runtime_.ImageStatus({*ref}, Soon()))->size_bytes, 77u);
}

TEST_F(FakeRuntimeTest, APullIsLostWithTheRuntimeThatDoesIt) {
  /// After half of each wait the runtime is restarted.
  class Restarting final : public Waiter {
   public:
    explicit Restarting(FakeClock& clock) : clock_(clock) {}
    void WaitFor(Duration max, const std::function<bool()>& done) override {
      clock_.Advance(max / 2);
      runtime->SetDown(true);
      runtime->SetDown(false);
      if (!done()) clock_.Advance(max - max / 2);
    }
    FakeRuntime* runtime = nullptr;

   private:
    FakeClock& clock_;
  };
  Restarting waiter(clock_);
  FakeRuntime runtime(clock_, {.waiter = &waiter});
  waiter.runtime = &runtime;
  runtime.SetPull("busybox", {.takes = 30s});
  const Clock::Time before = clock_.Now();
  EXPECT_EQ(runtime.PullImage("busybox", nullptr, pod_.Config(), Soon()).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(clock_.Now() - before, 15s);
  EXPECT_FALSE((*runtime.ImageStatus({"busybox"}, Soon())).has_value());
  runtime.SetPull("busybox", {});
  EXPECT_TRUE(runtime.PullImage("busybox", nullptr, pod_.Config(), Soon()).ok());
}

TEST_F(FakeRuntimeTest, StateSurvivesARestartOfTheRuntime) {
  const ContainerId id = StartOne(runtime_, pod_, "app");
  runtime_.AddUnmanagedPod({"uid-9", "other", "kube-system", {"x"}, {}});
  FakeRuntime next(clock_, {.waiter = waiter_.get()});
  ASSERT_TRUE(next.Restore(runtime_.Save()).ok());
  EXPECT_EQ(next.Running("uid-1"), std::vector<std::string>{"app"});
  EXPECT_EQ(next.Running("uid-9"), std::vector<std::string>{"x"});
  EXPECT_EQ(next.PodSandboxStatus(sandbox_, Soon())->ips,
            runtime_.PodSandboxStatus(sandbox_, Soon())->ips);
  EXPECT_EQ(next.ContainerStatus(id, Soon())->started_at_ns,
            runtime_.ContainerStatus(id, Soon())->started_at_ns);
  const auto again = next.RunPodSandbox(pod_.Config(), "", Soon());
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_FALSE(next.Restore("x").ok());
}

TEST_F(FakeRuntimeTest, AfterARebootNothingRunsAndTheRecordsStay) {
  const ContainerId id = StartOne(runtime_, pod_, "app");
  runtime_.Reboot();
  EXPECT_EQ(runtime_.PodSandboxStatus(sandbox_, Soon())->state, SandboxState::kNotReady);
  EXPECT_EQ(runtime_.ContainerStatus(id, Soon())->exit_code, 255);
}

TEST_F(FakeRuntimeTest, ADeadProcessIsAnsweredCancelledAndChangesNothing) {
  bool alive = true;
  FakeRuntime runtime(clock_, {.intercept = [&](std::string_view, const std::string&) -> Status {
                        return alive ? OkStatus() : Cancelled("dead");
                      }});
  alive = false;
  EXPECT_EQ(runtime.RunPodSandbox(pod_.Config(), "", Soon()).status().code(),
            StatusCode::kCancelled);
  EXPECT_TRUE(runtime.Sandboxes().empty());
}

TEST(ImageNameTest, ShortNamesGetRegistryAndTag) {
  const struct {
    const char* in;
    const char* want;
  } kCases[] = {
      {"busybox", "docker.io/library/busybox:latest"},
      {"library/busybox:1", "docker.io/library/busybox:1"},
      {"localhost/x", "localhost/x:latest"},
      {"registry:5000/a/b", "registry:5000/a/b:latest"},
      {"registry.k8s.io/pause@sha256:12", "registry.k8s.io/pause@sha256:12"},
      {"sha256:12", "sha256:12"},
  };
  for (const auto& c : kCases) EXPECT_EQ(NormalImageName(c.in), c.want);
}

}  // namespace
}  // namespace splitlet::cri
