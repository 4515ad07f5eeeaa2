#include <gtest/gtest.h>

#include <limits>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/probes/exec_prober.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Probes by a command, from the manifest to what `workers` shows and what becomes of the
/// container.

namespace splitlet::pod_worker {
namespace {

using core_probe = k8s::io::api::core::v1::Probe;

class Probed : public TestNode, public testing::Test {
 protected:
  Probed() {
    Start();
    RunFor(60s);  // older than a period
  }
  static void Fill(core_probe& probe, int failures = 3) {
    probe.set_period_seconds(1);
    probe.set_timeout_seconds(1);
    probe.set_success_threshold(1);
    probe.set_failure_threshold(failures);
    probe.mutable_handler()->mutable_exec()->add_command("check");
  }
  static kube::Container& App(kube::Pod& pod) { return *pod.mutable_spec()->mutable_containers(0); }
  void Answer(int32_t code, const std::string& container = "app") {
    runtime.SetExec("uid-web", container, cri::ExecResult{.exit_code = code, .out = "no"});
  }
  /// "readiness=1 startup=0", of all containers.
  std::string Results() const {
    std::vector<std::string> parts;
    const auto record = Record();
    for (const auto& result : record->probes())
      parts.push_back(fmt::format("{}={}", result.kind(), result.success() ? 1 : 0));
    std::sort(parts.begin(), parts.end());
    return fmt::format("{}", fmt::join(parts, " "));
  }
};

TEST_F(Probed, ReadinessHasNoResultBeforeARunAndFollowsItsThreshold) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_readiness_probe());
  App(pod).mutable_readiness_probe()->set_initial_delay_seconds(5);
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(events.Count("FeatureNotSupported"), 0);
  RunFor(4s);
  EXPECT_EQ(Results(), "") << "not before its delay";
  RunFor(2s);
  EXPECT_EQ(Results(), "readiness=1");
  Answer(1);
  RunFor(2s);
  EXPECT_EQ(Results(), "readiness=1");
  RunFor(2s);
  EXPECT_EQ(Results(), "readiness=0");
  EXPECT_EQ(events.Text("Unhealthy"), "Readiness probe failed: no");
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Probed, ARestartOfTheProcessKeepsTheResult) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_readiness_probe());
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(2s);
  ASSERT_EQ(Results(), "readiness=1");
  const size_t before = runtime.Calls("ExecSync");
  Restart();
  EXPECT_EQ(Results(), "readiness=1");
  EXPECT_LE(runtime.Calls("ExecSync"), before + 1) << "no burst";
  RunFor(5s);
  EXPECT_EQ(Results(), "readiness=1");
  EXPECT_GE(runtime.Calls("ExecSync"), before + 4);
}

/// An upgrade from a version without probes, a takeover, a lost file.
TEST_F(Probed, AContainerWhoseResultsAreLostHasStartedAndIsAskedAtOnceForTheRest) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_startup_probe(), 30);
  Fill(*App(pod).mutable_readiness_probe());
  App(pod).mutable_readiness_probe()->set_period_seconds(50);
  ASSERT_TRUE(RunPod(pod).ok());
  const auto lose = [this] {
    Kill();
    ASSERT_TRUE(files.RemoveTree("/run/pod-worker/probes").ok());
    Start();
  };
  RunFor(20s);
  ASSERT_EQ(Results(), "readiness=1 startup=1");
  Answer(1);
  lose();
  EXPECT_EQ(Results(), "") << "it may be starting still";
  Answer(0);
  RunFor(15s);
  EXPECT_EQ(Results(), "readiness=1 startup=1");
  const size_t before = runtime.Calls("ExecSync");
  Answer(1);
  lose();
  RunFor(40s);
  EXPECT_EQ(Results(), "startup=1");
  EXPECT_EQ(runtime.Calls("ExecSync"), before + 1) << "readiness, at once";
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Probed, AStartupProbeThatMayFailAsOftenAsCanBeSaidIsNotOver) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_startup_probe(), std::numeric_limits<int32_t>::max());
  App(pod).mutable_startup_probe()->set_period_seconds(5);
  Answer(1);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(60s);
  ASSERT_EQ(Results(), "");
  Kill();
  ASSERT_TRUE(files.RemoveTree("/run/pod-worker/probes").ok());
  Start();
  EXPECT_EQ(Results(), "") << "it may be starting still";
  Answer(0);
  RunFor(6s);
  EXPECT_EQ(Results(), "startup=1");
}

TEST_F(Probed, LivenessThatFailsRestartsTheContainerAndThenBacksOff) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_liveness_probe());
  App(pod).mutable_liveness_probe()->set_termination_grace_period_seconds(5);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(3s);
  Answer(1);
  RunFor(3s);
  EXPECT_GE(events.Count("Unhealthy"), 3);
  EXPECT_EQ(events.Text("Killing"), "Container app failed liveness probe, will be restarted");
  RunFor(1s);
  EXPECT_NE(Show().find("app/1=running"), std::string::npos) << Show();
  RunFor(8s);
  EXPECT_EQ(NoteOf("app").reason(), "CrashLoopBackOff") << Show();
}

TEST_F(Probed, WithPolicyNeverThePodEnds) {
  auto pod = TestPod{.policy = "Never"}.Make();
  Fill(*App(pod).mutable_liveness_probe(), 1);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(2s);
  Answer(1);
  RunFor(60s);
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed") << Show();
}

TEST_F(Probed, TheOthersWaitForStartup) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_startup_probe(), 30);
  Fill(*App(pod).mutable_readiness_probe());
  Fill(*App(pod).mutable_liveness_probe(), 1);
  Answer(1);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(5s);
  EXPECT_EQ(Results(), "");
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  Answer(0);
  RunFor(2s);
  EXPECT_EQ(Results(), "liveness=1 readiness=1 startup=1");
}

TEST_F(Probed, ASidecarLetsTheNextBeginWhenItHasStarted) {
  auto pod = TestPod{.inits = {"side"}, .sidecars = {"side"}}.Make();
  Fill(*pod.mutable_spec()->mutable_init_containers(0)->mutable_startup_probe(), 30);
  Answer(1, "side");
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(5s);
  EXPECT_EQ(Show(), "sandbox/0=ready side/0=running");
  Answer(0, "side");
  RunFor(2s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready side/0=running");
}

TEST_F(Probed, ARuntimeThatCannotRunTheCommandChangesNothing) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_liveness_probe(), 1);
  runtime.SetExec("uid-web", "app", Unavailable("away"));
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(500ms);
  EXPECT_EQ(runtime.Calls("ExecSync"), 3u) << "tried three times";
  EXPECT_EQ(events.Text("Unhealthy"), "Liveness probe errored and resulted in unknown state: away");
  EXPECT_EQ(Results(), "");
  runtime.SetExec("uid-web", "app", DeadlineExceeded("too long"));
  RunFor(1s);
  EXPECT_EQ(Results(), "liveness=0");
}

TEST_F(Probed, OfALongOutputTheBeginningIsToldAndTheCodeCounts) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_readiness_probe(), 1);
  runtime.SetExec("uid-web", "app", cri::ExecResult{0, std::string(16u << 20, 'o'), ""});
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(2s);
  EXPECT_EQ(Results(), "readiness=1");
  runtime.SetExec("uid-web", "app", cri::ExecResult{1, "no", std::string(16u << 20, 'e')});
  RunFor(2s);
  EXPECT_EQ(Results(), "readiness=0");
  const std::string told = events.Text("Unhealthy");
  EXPECT_TRUE(told.starts_with("Readiness probe failed: noeee")) << told.substr(0, 100);
  EXPECT_LE(told.size(), kMaxProbeOutput + 100);
}

/// The client of the runtime goes before the prober's answers would be missed.
TEST_F(Probed, NothingBeginsOnceTheProcessEnds) {
  TestPod many;
  many.containers.clear();
  for (size_t i = 0; i < ExecProber::kAtOnce + 8; ++i)
    many.containers.push_back(fmt::format("c{}", i));
  auto pod = many.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers())
    Fill(*container.mutable_liveness_probe(), 1);
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(2s);
  ASSERT_EQ(process->calls.execs.size(), ExecProber::kAtOnce);
  Call([this] { service().BeginStop(); });
  for (size_t i = 0; i < ExecProber::kAtOnce; ++i) process->calls.execs[i](Cancelled("given up"));
  Settle();
  EXPECT_EQ(process->calls.execs.size(), ExecProber::kAtOnce);
  EXPECT_EQ(events.Count("Unhealthy"), 0);
}

TEST_F(Probed, EachKindOfActionHasItsProber) {
  auto pod = TestPod{.containers = {"get", "tcp", "rpc"}}.Make();
  for (int i = 0; i < 3; ++i) {
    auto& probe = *pod.mutable_spec()->mutable_containers(i)->mutable_readiness_probe();
    Fill(probe, 1);
    auto& handler = *probe.mutable_handler();
    handler.clear_exec();
    if (i == 0) {
      handler.mutable_http_get()->mutable_port()->set_int_val(80);
      handler.mutable_http_get()->set_path("/");
      handler.mutable_http_get()->set_scheme("HTTP");
    }
    if (i == 1) handler.mutable_tcp_socket()->mutable_port()->set_int_val(81);
    if (i == 2) handler.mutable_grpc()->set_port(82);
  }
  http.answer = [](const http::Exchange& asked) {
    return asked.protocol == http::Exchange::Protocol::kHttp2
               ? http::Outcome{.code = 200, .head = "grpc-status: 12\r\n"}
               : http::Outcome{.code = 200};
  };
  const Status granted = RunPod(pod);
  ASSERT_TRUE(granted.ok()) << granted;
  EXPECT_EQ(events.Count("FeatureNotSupported"), 0);
  RunFor(500ms);
  EXPECT_EQ(Results(), "readiness=0 readiness=1 readiness=1");
  EXPECT_EQ(runtime.Calls("ExecSync"), 0u);
  ASSERT_EQ(http.asked.size(), 3u);
  EXPECT_EQ(events.Text("Unhealthy"),
            "Readiness probe failed: error: this server does not implement the grpc health "
            "protocol (grpc.health.v1.Health): ");
}

/// Sixteen of the places are left for those that answer.
TEST_F(Probed, CommandsThatHangDoNotDelayTheOthers) {
  TestPod many;
  many.containers.clear();
  for (size_t i = 0; i < ExecProber::kAtOnce + 8; ++i)
    many.containers.push_back(fmt::format("c{}", i));
  auto pod = many.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers())
    Fill(*container.mutable_readiness_probe());
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(2s);
  ASSERT_EQ(process->calls.execs.size(), ExecProber::kAtOnce);
  const auto answer_all = [this] {
    const auto execs = std::exchange(process->calls.execs, {});
    for (const auto& exec : execs) exec(DeadlineExceeded("too long"));
    Settle();
  };
  answer_all();
  EXPECT_EQ(process->calls.execs.size(), 8u + ExecProber::kAtOnce / 2)
      << "those that had to wait, and half of the places for those that hang";
}

TEST_F(Probed, WhatIsGoneIsProbedNoMore) {
  auto pod = TestPod{}.Make();
  Fill(*App(pod).mutable_readiness_probe());
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(2s);
  Remove(pod);
  RunFor(60s);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(Results(), "");
  const size_t before = runtime.Calls("ExecSync");
  RunFor(10s);
  EXPECT_EQ(runtime.Calls("ExecSync"), before);
}

}  // namespace
}  // namespace splitlet::pod_worker
