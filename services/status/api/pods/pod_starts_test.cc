#include "services/status/api/pods/pod_starts.h"

#include <fmt/format.h>

#include <functional>

#include "services/status/api/api_fixture.h"

namespace splitlet::status {
namespace {

class PodStartsTest : public ApiTest {
 protected:
  void SetUp() override {
    follows = false;
    Start();
    starts = std::make_unique<PodStarts>(clock, process->desired, metrics, Log(log_sink));
    created_s = ToNanos(clock.WallNow()) / 1'000'000'000;
  }
  /// A pod that was created just now.
  kube::Pod MakePod(const std::string& uid) const {
    kube::Pod pod;
    pod.mutable_metadata()->set_name(uid);
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_metadata()->set_uid(uid);
    pod.mutable_metadata()->mutable_creation_timestamp()->set_seconds(ToNanos(clock.WallNow()) /
                                                                      1'000'000'000);
    pod.mutable_spec()->add_containers()->set_name("a");
    return pod;
  }
  void Want(const kube::Pod& pod, const std::string& source = "api") {
    PutDesired(pod, source, v1::DesiredRecord::WANTED);
    all.Advance(Duration{0});
    starts->OnDesired(pod.metadata().uid());
  }
  void Event(const std::string& uid, const std::string& reason, const std::string& container = "a",
             v1::EventRecord::Step step = v1::EventRecord::STEP_UNSPECIFIED) {
    v1::EventRecord event;
    event.set_step(step);
    event.set_uid(uid);
    event.set_reason(reason);
    event.set_field_path("spec.containers{" + container + "}");
    event.set_last_wall_ns(ToNanos(clock.WallNow()));
    starts->OnEvent(event);
  }
  void BeginPull(const std::string& uid) { Event(uid, "Pulling"); }
  void EndPull(const std::string& uid) { Event(uid, "Pulled"); }
  void ShowRunning(const std::string& uid) { starts->OnStored(uid, MakeStatus("Running")); }

  /// "total 1x3s sli 1x2s": how many and their sum.
  std::string Show() const {
    std::string shown;
    for (const auto& family : registry.Collect())
      for (const auto& metric : family.metric) {
        const auto& h = metric.histogram;
        if (family.name == "kubelet_pod_start_total_duration_seconds")
          shown += fmt::format("total {}x{}s", h.sample_count, h.sample_sum);
        if (family.name == "kubelet_pod_start_sli_duration_seconds")
          shown = fmt::format("sli {}x{}s ", h.sample_count, h.sample_sum) + shown;
      }
    return shown;
  }
  double FirstNetwork() const {
    for (const auto& family : registry.Collect())
      if (family.name == "kubelet_first_network_pod_start_sli_duration_seconds")
        return family.metric.at(0).gauge.value;
    return -1;
  }

  prometheus::Registry registry;
  PodApiMetrics metrics{registry};
  std::unique_ptr<PodStarts> starts;
  int64_t created_s = 0;
};

TEST_F(PodStartsTest, WhatIsMeasured) {
  const struct {
    const char* name;
    std::function<void(kube::Pod&)> edit;
    const char* source;
    const char* want;
  } kCases[] = {
      {"a pod", [](kube::Pod&) {}, "api", "sli 1x3s total 1x3s"},
      {"a static one", [](kube::Pod&) {}, "file", "sli 0x0s total 0x0s"},
      {"one that started before this process",
       [](kube::Pod& pod) { pod.mutable_status()->mutable_start_time()->set_seconds(1); }, "api",
       "sli 0x0s total 0x0s"},
      {"one that had to wait for a node",
       [](kube::Pod& pod) {
         auto& condition = *pod.mutable_status()->add_conditions();
         condition.set_type("PodScheduled");
         condition.set_status("False");
       },
       "api", "sli 0x0s total 0x0s"},
      {"one whose volume may have to be attached",
       [](kube::Pod& pod) {
         pod.mutable_spec()
             ->add_volumes()
             ->mutable_volume_source()
             ->mutable_persistent_volume_claim()
             ->set_claim_name("c");
       },
       "api", "sli 0x0s total 1x3s"},
      {"one with volumes made here",
       [](kube::Pod& pod) {
         pod.mutable_spec()->add_volumes()->mutable_volume_source()->mutable_empty_dir();
         pod.mutable_spec()->add_volumes()->mutable_volume_source()->mutable_secret();
       },
       "api", "sli 1x3s total 1x3s"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    prometheus::Registry fresh;
    PodApiMetrics own{fresh};
    PodStarts one(clock, process->desired, own, Log(log_sink));
    kube::Pod pod = MakePod("u");
    c.edit(pod);
    PutDesired(pod, c.source, v1::DesiredRecord::WANTED);
    all.Advance(Duration{0});
    one.OnDesired("u");
    all.Advance(2s);
    one.OnStored("u", MakeStatus("Pending"));
    all.Advance(1s);
    one.OnStored("u", MakeStatus("Running"));
    all.Advance(1s);
    one.OnStored("u", MakeStatus("Running"));
    std::map<std::string, std::string> got;
    for (const auto& family : fresh.Collect())
      for (const auto& metric : family.metric)
        got[family.name] =
            fmt::format("{}x{}s", metric.histogram.sample_count, metric.histogram.sample_sum);
    EXPECT_EQ(fmt::format("sli {} total {}", got["kubelet_pod_start_sli_duration_seconds"],
                          got["kubelet_pod_start_total_duration_seconds"]),
              c.want);
  }
}

TEST_F(PodStartsTest, PullsAndInitContainersAreNotOfTheAgent) {
  Want(MakePod("u"));
  BeginPull("u");
  all.Advance(5s);
  BeginPull("u");
  all.Advance(5s);
  EndPull("u");
  all.Advance(5s);
  EndPull("u");
  Event("u", "Pulled");  // the image of a restarted container is present
  all.Advance(3s);
  auto status = MakeStatus("Running");
  auto& init = *status.add_init_container_statuses()->mutable_state()->mutable_terminated();
  init.mutable_started_at()->set_seconds(created_s + 15);
  init.mutable_finished_at()->set_seconds(created_s + 17);
  starts->OnStored("u", status);
  EXPECT_EQ(Show(), "sli 1x1s total 1x18s");
  EXPECT_EQ(FirstNetwork(), 1);
}

TEST_F(PodStartsTest, TheStepOfAnEventCountsAndNotItsReason) {
  Want(MakePod("u"));
  Event("u", "AnyText", "a", v1::EventRecord::PULL_BEGAN);
  Event("u", "Pulled", "a", v1::EventRecord::OTHER);
  all.Advance(5s);
  Event("u", "AnyText", "a", v1::EventRecord::PULL_ENDED);
  Event("u", "Pulling", "a", v1::EventRecord::OTHER);
  all.Advance(1s);
  ShowRunning("u");
  EXPECT_EQ(Show(), "sli 1x1s total 1x6s");
}

TEST_F(PodStartsTest, AnImageThatIsPresentDoesNotEndThePullOfAnotherContainer) {
  Want(MakePod("u"));
  BeginPull("u");
  Event("u", "Pulled", "b");
  all.Advance(5s);
  EndPull("u");
  all.Advance(1s);
  ShowRunning("u");
  EXPECT_EQ(Show(), "sli 1x1s total 1x6s");
}

TEST_F(PodStartsTest, OnlyTheFirstWithANetworkOfItsOwnIsShown) {
  auto host = MakePod("host");
  host.mutable_spec()->set_host_network(true);
  Want(host);
  all.Advance(1s);
  ShowRunning("host");
  EXPECT_EQ(FirstNetwork(), 0);
  for (const char* uid : {"a", "b"}) {
    Want(MakePod(uid));
    all.Advance(uid[0] == 'a' ? 2s : 3s);
    ShowRunning(uid);
  }
  EXPECT_EQ(FirstNetwork(), 2);
  EXPECT_EQ(Show(), "sli 3x6s total 3x6s");
}

TEST_F(PodStartsTest, OneThatEndedWithoutRunningIsNotMeasuredLater) {
  Want(MakePod("u"));
  starts->OnStored("u", MakeStatus("Failed"));
  ShowRunning("u");
  EXPECT_EQ(Show(), "sli 0x0s total 0x0s");
}

TEST_F(PodStartsTest, TheServersAnswerIsWhatCounts) {
  kube::Pod pod = MakePod("web");
  pod.mutable_metadata()->clear_uid();
  server.Put(kPods + "/web", pod);
  follows = true;
  Run(1s);
  const std::string uid = AtServer("web").metadata().uid();
  const auto logged = [&] {
    const auto lines = log_sink.lines();
    return std::ranges::count(lines, "Observed pod startup duration", &FakeLogSink::Line::message);
  };
  server.SetAway(true);
  Publish(uid, "web", "Running");
  Run(1s);
  EXPECT_EQ(logged(), 0);
  server.SetAway(false);
  Run(40s);
  EXPECT_EQ(logged(), 1);
}

}  // namespace
}  // namespace splitlet::status
