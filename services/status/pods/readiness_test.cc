#include <gtest/gtest.h>

#include <string>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/kube/codec.h"
#include "services/status/pods/pod_status.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {
namespace {

/// "True 1060": its status, and since when.
std::string ShowSince(const kube::PodStatus& status, const std::string& type) {
  for (const auto& condition : status.conditions())
    if (condition.type() == type)
      return fmt::format("{} {}", condition.status(), condition.last_transition_time().seconds());
  return "none";
}

TEST(Readiness, ItsConditionsFlipTogetherAndHaveANewTimeEachTime) {
  kube::Pod pod;
  const auto decoded = kube::DecodeInto(
      "metadata: {name: web, namespace: default, uid: u1}\nspec: {restartPolicy: Always, "
      "containers: [{name: a, image: x, readinessProbe: {exec: {command: [x]}}}]}",
      "test", kube::Strictness::kStrict, pod);
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
  v1::DesiredRecord desired;
  desired.set_source("api");
  desired.set_state(v1::DesiredRecord::WANTED);
  v1::WorkerRecord worker;
  worker.set_state(v1::SYNCING);
  worker.set_granted(true);
  worker.set_start_time_wall_ns(900'000'000'000);
  auto& probe = *worker.add_probes();
  probe.set_container_id("c1");
  probe.set_kind("readiness");
  v1::ObservedPod seen;
  auto& sandbox = *seen.add_sandboxes();
  sandbox.set_id("s1");
  sandbox.set_state(v1::SandboxRecord::READY);
  sandbox.add_ips("10.0.0.5");
  auto& container = *seen.add_containers();
  container.set_id("c1");
  container.set_sandbox_id("s1");
  container.set_name("a");
  container.set_state(v1::ContainerRecord::RUNNING);
  container.set_started_at_ns(950'000'000'000);

  kube::PodStatus last;
  int64_t now = 1000;
  for (const bool ready : {true, false, true, false}) {
    probe.set_success(ready);
    const kube::PodStatus before = last;
    last = ComputePodStatus({.pod = pod,
                             .desired = desired,
                             .worker = &worker,
                             .runtime = &seen,
                             .previous = now == 1000 ? nullptr : &before,
                             .workers_live = true,
                             .now = WallFromNanos(now * 1'000'000'000)});
    if (now > 1000) {
      const std::string want = fmt::format("{} {}", ready ? "True" : "False", now);
      EXPECT_EQ(ShowSince(last, "Ready"), want);
      EXPECT_EQ(ShowSince(last, "ContainersReady"), want);
    }
    EXPECT_EQ(last.start_time().seconds(), 900);
    now += 60;
  }
}

/// "ready started" of the one container, whose startup and readiness are probed.
std::string ShowFlags(const kube::PodStatus& shown, const v1::WorkerRecord& worker) {
  kube::Pod pod;
  const auto decoded = kube::DecodeInto(
      "metadata: {name: web, namespace: default, uid: u1}\nspec: {restartPolicy: Always, "
      "containers: [{name: a, image: x, readinessProbe: {exec: {command: [x]}}, startupProbe: "
      "{exec: {command: [x]}}}]}",
      "test", kube::Strictness::kStrict, pod);
  EXPECT_TRUE(decoded.ok()) << ToString(decoded.status());
  v1::DesiredRecord desired;
  desired.set_source("api");
  desired.set_state(v1::DesiredRecord::WANTED);
  v1::ObservedPod seen;
  seen.set_runtime_name("containerd");
  auto& sandbox = *seen.add_sandboxes();
  sandbox.set_id("s1");
  sandbox.set_state(v1::SandboxRecord::READY);
  sandbox.add_ips("10.0.0.5");
  auto& container = *seen.add_containers();
  container.set_id("c1");
  container.set_sandbox_id("s1");
  container.set_name("a");
  container.set_state(v1::ContainerRecord::RUNNING);
  const auto status = ComputePodStatus({.pod = pod,
                                        .desired = desired,
                                        .worker = &worker,
                                        .runtime = &seen,
                                        .previous = &shown,
                                        .workers_live = true,
                                        .now = WallFromNanos(1)});
  const auto& one = status.container_statuses(0);
  std::string flags = one.ready() ? "ready" : "";
  if (one.started()) flags += flags.empty() ? "started" : " started";
  return flags;
}

TEST(Readiness, WhatTheAgentBeforeHasShownOfAContainerStandsUntilAProbeAnswers) {
  const struct {
    const char* name;
    const char* id;        // in the status of before
    bool ready, started;   // likewise
    const char* answered;  // the probe that has said no since; empty: none
    const char* want;
  } kCases[] = {
      {"both", "containerd://c1", true, true, "", "ready started"},
      {"it has started only", "containerd://c1", false, true, "", "started"},
      {"neither", "containerd://c1", false, false, "", ""},
      {"of another container", "containerd://c0", true, true, "", ""},
      {"the probe of readiness says no", "containerd://c1", true, true, "readiness", "started"},
      {"the probe of the start says no", "containerd://c1", true, true, "startup", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::PodStatus shown;
    shown.set_phase("Running");
    auto& one = *shown.add_container_statuses();
    one.set_name("a");
    one.set_container_id(c.id);
    one.set_ready(c.ready);
    one.set_started(c.started);
    one.mutable_state()->mutable_running();
    v1::WorkerRecord worker;
    worker.set_state(v1::SYNCING);
    worker.set_granted(true);
    if (*c.answered != '\0') {
      auto& result = *worker.add_probes();
      result.set_container_id("c1");
      result.set_kind(c.answered);
    }
    EXPECT_EQ(ShowFlags(shown, worker), c.want);
  }
}

}  // namespace
}  // namespace splitlet::status
