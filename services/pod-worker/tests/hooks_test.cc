#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Lifecycle hooks: postStart before anything else starts, preStop before the stop.

namespace splitlet::pod_worker {
namespace {

namespace core = k8s::io::api::core::v1;

class Hooks : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    http.answer = [](const http::Exchange&) { return http::Outcome{.code = 500}; };
    Start();
  }
  static core::LifecycleHandler& PreStopOf(kube::Pod& pod, int container = 0) {
    return *pod.mutable_spec()
                ->mutable_containers(container)
                ->mutable_lifecycle()
                ->mutable_pre_stop();
  }
  static core::LifecycleHandler& PostStartOf(kube::Pod& pod) {
    return *pod.mutable_spec()->mutable_containers(0)->mutable_lifecycle()->mutable_post_start();
  }
  HeldCalls& calls() { return process->calls; }
};

TEST_F(Hooks, NothingElseStartsBeforePostStartIsOver) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  PostStartOf(pod).mutable_exec()->add_command("true");
  calls().hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  Changed();
  RunFor(200s);
  EXPECT_EQ(Show(), "a/0=running sandbox/0=ready");
  ASSERT_EQ(calls().execs.size(), 1u);
  calls().execs[0](cri::ExecResult{});
  Settle();
  EXPECT_EQ(Show(), "a/0=running b/0=running sandbox/0=ready");
  EXPECT_EQ(calls().execs.size(), 1u);
}

TEST_F(Hooks, AFailedPostStartKillsItsContainer) {
  auto pod = TestPod{.policy = "Never"}.Make();
  PostStartOf(pod).mutable_exec()->add_command("hook");
  runtime.SetExec("uid-web", "app", cri::ExecResult{1, "hunter2", ""});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=exited(143) sandbox/0=dead");
  EXPECT_EQ(events.Text("FailedPostStartHook"), "PostStartHook failed");
  EXPECT_EQ(events.Text("Killing"), "FailedPostStartHook");
  for (const auto& event : events.events)
    EXPECT_EQ(event.message.find("hunter2"), std::string::npos) << event.message;
}

TEST_F(Hooks, APostStartThatTheEndOfTheProcessCutsOffHasNotFailed) {
  auto pod = TestPod{}.Make();
  PostStartOf(pod).mutable_exec()->add_command("hook");
  calls().hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(calls().execs.size(), 1u);
  Call([this] { service().BeginStop(); });
  calls().execs[0](Cancelled("given up"));
  Settle();
  EXPECT_EQ(events.Count("FailedPostStartHook"), 0);
  EXPECT_EQ(NoteOf("app").reason(), "");
}

TEST_F(Hooks, AFailedPostStartIsTriedWithTheNextAttempt) {
  auto pod = TestPod{}.Make();
  PostStartOf(pod).mutable_exec()->add_command("hook");
  runtime.SetExec("uid-web", "app", cri::ExecResult{1, "", ""});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "PostStartHookError");
  EXPECT_NE(NoteOf("app").message().find("Exec lifecycle hook ([hook]) for Container \"app\""),
            std::string::npos);
  RunFor(5s);
  EXPECT_EQ(NoteOf("app").reason(), "CrashLoopBackOff") << Show();
  runtime.SetExec("uid-web", "app", cri::ExecResult{});
  RunFor(60s);
  EXPECT_EQ(runtime.Running("uid-web"), std::vector<std::string>{"app"});
}

TEST_F(Hooks, APodThatIsRemovedWaitsForNoPostStart) {
  auto pod = TestPod{}.Make();
  PostStartOf(pod).mutable_sleep()->set_seconds(25);
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(events.Count("FailedPostStartHook"), 0);
}

TEST_F(Hooks, PostStartIsNotRunAgainAfterAKill) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  PostStartOf(pod).mutable_exec()->add_command("true");
  calls().hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  Restart();
  calls().hold = true;
  Changed();
  EXPECT_EQ(calls().execs.size(), 0u);
  EXPECT_EQ(Show(), "a/0=running b/0=running sandbox/0=ready");
}

TEST_F(Hooks, AnyAnswerToARequestWillDo) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  auto& get = *PostStartOf(pod).mutable_http_get();
  get.mutable_port()->set_int_val(8080);
  get.set_scheme("HTTP");
  get.set_path("/started");
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(http.asked.size(), 1u);
  EXPECT_TRUE(http.asked[0].url.ends_with(":8080/started")) << http.asked[0].url;
  EXPECT_TRUE(http.asked[0].headers_only);
  EXPECT_EQ(runtime.Running("uid-web").size(), 2u);
}

/// Thirty-two of them would hold all threads that the runtime is called with.
TEST_F(Hooks, ARequestThatHangsHoldsNoThread) {
  auto pod = TestPod{}.Make();
  auto& get = *PostStartOf(pod).mutable_http_get();
  get.mutable_port()->set_int_val(8080);
  get.set_scheme("HTTP");
  get.set_path("/started");
  http.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(http.held.size(), 1u);
  EXPECT_EQ(process->strands.Pending("hook/1"), 0u);
  http.held[0].done({.code = 200});
  Settle();
  EXPECT_EQ(NoteOf("app").reason(), "");
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Hooks, RequestsThatHangLeaveRoomForProbesAndTheNextHooksWait) {
  http.hold = true;
  for (size_t i = 0; i < HookRunner::kRequestsAtOnce + 2; ++i) {
    auto pod = TestPod{.name = fmt::format("p{}", i), .uid = fmt::format("uid-{}", i)}.Make();
    auto& get = *PostStartOf(pod).mutable_http_get();
    get.mutable_port()->set_int_val(8080);
    get.set_scheme("HTTP");
    get.set_path("/started");
    ASSERT_TRUE(RunPod(pod).ok());
  }
  ASSERT_EQ(http.held.size(), HookRunner::kRequestsAtOnce);
  http.held[0].done({.code = 200});
  http.held[1].done({.code = 200});
  Settle();
  EXPECT_EQ(http.held.size(), HookRunner::kRequestsAtOnce + 2);
}

TEST_F(Hooks, CommandsOfAFullNodeRunAtATimeAndTheNextOnesWait) {
  Metrics metrics(process->registry);  // of the families that the service has, too
  HookRunner runner({.env = {.clock = clock,
                             .loop = process->loop,
                             .strands = process->strands,
                             .log = process->log,
                             .metrics = process->registry},
                     .long_calls = process->calls,
                     .http = http,
                     .metrics = metrics});
  calls().hold_exec = true;
  size_t ended = 0;
  Call([&] {
    for (size_t i = 0; i < HookRunner::kCommandsAtOnce + 2; ++i) {
      HookRunner::Run run{.container_id = "c", .deadline = After(clock, 60s)};
      run.call.kind = HookCall::Kind::kExec;
      run.call.command = {"hook"};
      run.deadline.cancel = std::make_shared<CancelToken>();
      runner.Begin(std::move(run), [&ended](const Status& status) { ended += status.ok(); });
    }
  });
  ASSERT_EQ(calls().execs.size(), HookRunner::kCommandsAtOnce);
  for (size_t i = 0; i < 3; ++i) calls().execs[i](cri::ExecResult{});
  Settle();
  EXPECT_EQ(calls().execs.size(), HookRunner::kCommandsAtOnce + 2);
  EXPECT_EQ(ended, 3u);
}

TEST_F(Hooks, OfALongOutputTheBeginningIsTold) {
  auto pod = TestPod{}.Make();
  PostStartOf(pod).mutable_exec()->add_command("hook");
  runtime.SetExec("uid-web", "app", cri::ExecResult{1, "out", std::string(16u << 20, 'e')});
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "PostStartHookError");
  EXPECT_NE(NoteOf("app").message().find("command 'hook' exited with 1: eee"), std::string::npos);
  EXPECT_LT(NoteOf("app").message().size(), 8u << 10);
}

TEST_F(Hooks, ThePreStopEatsOfTheGrace) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_sleep()->set_seconds(20);
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  RunFor(19s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  RunFor(1s);
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{10}));
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(events.Count("Killing"), 1);
  EXPECT_EQ(events.Count("FailedPreStopHook"), 0);
}

TEST_F(Hooks, APreStopThatNeverEndsEndsWithTheGrace) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_exec()->add_command("hang");
  ASSERT_TRUE(RunPod(pod).ok());
  calls().hold_exec = true;
  Remove(pod);
  RunFor(29s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  RunFor(1s);
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{2}));
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  calls().execs.at(0)(Unavailable("too late"));
  Settle();
  EXPECT_EQ(events.Count("FailedPreStopHook"), 0);
}

TEST_F(Hooks, AFailedPreStopIsToldAndTheStopGoesOn) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_exec()->add_command("hook");
  runtime.SetExec("uid-web", "app", cri::ExecResult{1, "hunter2", ""});
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(events.Text("FailedPreStopHook"), "PreStopHook failed");
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{30}));
}

TEST_F(Hooks, APreStopThatBeganIsNotBegunAgain) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_exec()->add_command("hang");
  ASSERT_TRUE(RunPod(pod).ok());
  calls().hold_exec = true;
  Remove(pod);
  ASSERT_EQ(calls().execs.size(), 1u);
  RunFor(12s);
  Restart();
  EXPECT_EQ(calls().execs.size(), 0u);
  EXPECT_EQ(runtime.Calls("ExecSync"), 0u);
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{18}));
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Hooks, ASleepGoesOnAfterAKill) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_sleep()->set_seconds(20);
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  RunFor(12s);
  Restart();
  RunFor(7s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  RunFor(1s);
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{10}));
}

TEST_F(Hooks, AShorterGraceShortensAHook) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_sleep()->set_seconds(25);
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  RunFor(5s);
  v1::KillPodRequest kill;
  kill.set_uid("uid-web");
  kill.set_incarnation(1);
  kill.set_request_id("sooner");
  kill.set_has_grace(true);
  kill.set_grace_period_seconds(3);
  ASSERT_TRUE(KillPod(kill).ok());
  RunFor(2s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  RunFor(1s);
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{2}));
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Hooks, OnAFullDiskAPodIsEndedWithoutItsHook) {
  auto pod = TestPod{}.Make();
  PreStopOf(pod).mutable_exec()->add_command("hook");
  ASSERT_TRUE(RunPod(pod).ok());
  files.Fail("/run/pod-worker/restarts", ResourceExhausted("disk full"));
  Remove(pod);
  EXPECT_EQ(runtime.Calls("ExecSync"), 0u);
  EXPECT_EQ(events.Count("FailedPreStopHook"), 1);
  EXPECT_EQ(Show(), "app/0=exited(143) sandbox/0=dead");
}

TEST_F(Hooks, TheHookOfASidecarRunsBesideTheMainContainers) {
  auto pod = TestPod{.inits = {"s"}, .sidecars = {"s"}}.Make();
  pod.mutable_spec()
      ->mutable_init_containers(0)
      ->mutable_lifecycle()
      ->mutable_pre_stop()
      ->mutable_exec()
      ->add_command("hook");
  PreStopOf(pod).mutable_sleep()->set_seconds(5);
  ASSERT_TRUE(RunPod(pod).ok());
  Changed();
  ASSERT_EQ(runtime.Running("uid-web").size(), 2u);
  Remove(pod);
  EXPECT_EQ(runtime.Calls("ExecSync"), 1u);
  EXPECT_EQ(traced.graces.size(), 0u);
  RunFor(5s);
  EXPECT_EQ(traced.graces, (std::vector<int64_t>{25, 25}));
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

}  // namespace
}  // namespace splitlet::pod_worker
