#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Pods that another agent began, and of which the API says how they stand. The same after a loss
/// of the directories.

namespace splitlet::pod_worker {
namespace {

/// It may have been started by another agent, or by this one before its directories were lost.
TEST(TakenOver, TheActiveDeadlineCountsFromTheStartThatTheApiShows) {
  const struct {
    const char* name;
    const char* source;
    int64_t shown;  // seconds before the grant
    int64_t left;   // of 100
  } kCases[] = {
      {"it runs for long", "api", 90, 10},
      {"it has run for too long", "api", 200, 0},
      {"a clock that is ahead of ours gives it no more time", "api", -500, 100},
      {"a manifest cannot say when it was started", "file", 90, 100},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.Start();
    auto pod = TestPod{.source = c.source}.Make();
    pod.mutable_spec()->set_active_deadline_seconds(100);
    const int64_t start = ToNanos(node.clock.WallNow()) / 1'000'000'000 - c.shown;
    pod.mutable_status()->mutable_start_time()->set_seconds(start);
    ASSERT_TRUE(node.RunPod(pod).ok());
    const auto runs = [&node] { return node.runtime.Running("uid-web").size() == 1u; };
    if (c.left > 0) {
      node.RunFor(std::chrono::seconds{c.left - 2});
      EXPECT_TRUE(runs());
    }
    node.RunFor(3s);
    EXPECT_FALSE(runs());
    EXPECT_EQ(node.Record()->terminal_status().reason(), "DeadlineExceeded");
    if (c.left < 100) {
      EXPECT_EQ(node.Record()->start_time_wall_ns(), start * 1'000'000'000);
    }
  }
}

/// Asked again, it could only stop what runs.
TEST(TakenOver, AContainerThatTheApiShowsStartedIsNotAskedWhetherItHas) {
  for (const bool shown : {true, false}) {
    SCOPED_TRACE(shown);
    TestNode node;
    node.Start();
    node.RunFor(60s);
    auto pod = TestPod{.source = "api"}.Make();
    auto& container = *pod.mutable_spec()->mutable_containers(0);
    for (auto* probe : {container.mutable_startup_probe(), container.mutable_liveness_probe()}) {
      probe->set_period_seconds(1);
      probe->set_timeout_seconds(1);
      probe->set_success_threshold(1);
      probe->set_failure_threshold(3);
      probe->mutable_handler()->mutable_exec()->add_command("check");
    }
    node.runtime.SetExec("uid-web", "app", cri::ExecResult{.exit_code = 1});
    ASSERT_TRUE(node.RunPod(pod).ok());
    node.Kill();
    for (const char* lost : {"/run", "/state"}) ASSERT_TRUE(node.files.RemoveTree(lost).ok());
    auto& status = *pod.mutable_status()->add_container_statuses();
    status.set_name("app");
    status.set_container_id("containerd://" + node.runtime.Containers().front().id.str());
    status.set_started(shown);
    node.Start();
    ASSERT_TRUE(node.RunPod(pod).ok());
    std::vector<std::string> results;
    const auto record = node.Record();
    for (const auto& result : record->probes())
      results.push_back(fmt::format("{}={}", result.kind(), result.success()));
    EXPECT_EQ(results,
              shown ? std::vector<std::string>{"startup=true"} : std::vector<std::string>{});
    node.RunFor(10s);
    // Liveness fails in both, and says so in its own name.
    const std::string why = node.events.Text("Killing");
    EXPECT_EQ(why, fmt::format("Container app failed {} probe, will be restarted",
                               shown ? "liveness" : "startup"));
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
