#pragma once

/// A node with running pods, for tests that set how much of its resources is left.
/// Threads: one.
/// Errors: as test failures.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {

inline constexpr int64_t kMebi = 1 << 20;

struct NewPod {
  std::string uid;
  int32_t priority = 0;
  int64_t memory = kMebi;  // in use
  std::string source = "api";
  std::string storage_limit = {}, volume_limit = {};
  uint64_t inodes = 1, layer = 4096;  // files that its container wrote; `layer`: bytes
};

/// Pods run; /proc/meminfo and the sizes of the disks say what the node has left.
class Eviction : public testing::Test {
 protected:
  Eviction() {
    node.config.eviction_hard = {{"memory.available", "100Mi"}, {"nodefs.available", "10%"}};
    node.config.pressure_transition = 5min;
    SetMemory(500);
    node.on_call = [this](std::string_view method) {
      ++calls[std::string(method)];
      if (on_call) on_call(method);
    };
    // pod-worker saves the eviction and publishes it.
    node.kills.on_kill = [this](const v1::KillPodRequest& request) {
      node.loop.Post([this, request] { PutWorker(request.uid(), v1::TERMINATING, true); });
    };
  }

  void SetMemory(int64_t available_mi) {
    const std::string text = fmt::format("MemTotal: {} kB\nActive(anon): {} kB\n", 1000 * 1024,
                                         (1000 - available_mi) * 1024);
    ASSERT_TRUE(node.files.Replace("/proc/meminfo", text, {}).ok());
  }

  void PutWorker(const std::string& uid, v1::WorkerState state, bool evicted) {
    v1::WorkerRecord worker;
    worker.set_uid(uid);
    worker.set_incarnation(1);
    worker.set_granted(true);
    worker.set_state(state);
    worker.set_evicted(evicted);
    ASSERT_TRUE(node.workers.Put(bus::KeyOf(uid), worker).ok());
  }

  void Add(const NewPod& spec) {
    node.runtime.AddImage("busybox");
    const cri::TestPod pod{.name = spec.uid, .uid = spec.uid};
    const Deadline deadline = After(node.clock, 1min);
    const auto sandbox = *node.runtime.RunPodSandbox(pod.Config(), "", deadline);
    const auto container = *node.runtime.CreateContainer(sandbox, pod.ContainerConfig("app", 0),
                                                         pod.Config(), deadline);
    ASSERT_TRUE(node.runtime.StartContainer(container, deadline).ok());
    node.runtime.SetStats(container,
                          {.id = container,
                           .cpu_usage_ns = 1,
                           .memory_working_set_bytes = static_cast<uint64_t>(spec.memory),
                           .writable_layer_bytes = spec.layer,
                           .writable_layer_inodes = spec.inodes});
    v1::DesiredRecord desired;
    desired.set_uid(spec.uid);
    desired.set_incarnation(1);
    desired.set_state(v1::DesiredRecord::WANTED);
    desired.set_pod(MakePod(spec).SerializeAsString());
    ASSERT_TRUE(node.desired.Put(bus::KeyOf(spec.uid), desired).ok());
    PutWorker(spec.uid, v1::SYNCING, false);
  }

  /// A finished pod whose leftovers are still in the runtime.
  void AddFinished(const std::string& uid) {
    Add({.uid = uid});
    const Deadline deadline = After(node.clock, 1min);
    for (const auto& container : node.runtime.Containers()) {
      if (container.labels.at(std::string(kube::kPodUidLabel)) != uid) continue;
      ASSERT_TRUE(node.runtime.StopContainer(container.id, 0, deadline).ok());
      ASSERT_TRUE(node.runtime.StopPodSandbox(container.sandbox_id, deadline).ok());
    }
    PutWorker(uid, v1::FINISHED, false);
  }

  static kube::Pod MakePod(const NewPod& spec) {
    kube::Pod pod;
    pod.mutable_metadata()->set_uid(spec.uid);
    pod.mutable_metadata()->set_name(spec.uid);
    pod.mutable_metadata()->set_namespace_("default");
    (*pod.mutable_metadata()->mutable_annotations())[std::string(kube::kConfigSource)] =
        spec.source;
    pod.mutable_spec()->set_priority(spec.priority);
    pod.mutable_spec()->set_termination_grace_period_seconds(30);
    auto& container = *pod.mutable_spec()->add_containers();
    container.set_name("app");
    container.set_image("busybox");
    if (!spec.storage_limit.empty())
      (*container.mutable_resources()->mutable_limits())["ephemeral-storage"].set_string(
          spec.storage_limit);
    if (!spec.volume_limit.empty()) {
      auto& volume = *pod.mutable_spec()->add_volumes();
      volume.set_name("tmp");
      volume.mutable_volume_source()->mutable_empty_dir()->mutable_size_limit()->set_string(
          spec.volume_limit);
    }
    return pod;
  }

  void Start() {
    node.Start();
    node.CompleteViews();
    node.all.Advance(10s);
  }
  std::vector<std::string> Killed() {
    std::vector<std::string> uids;
    for (const auto& kill : node.kills.kills) uids.push_back(kill.uid());
    return uids;
  }
  std::string Metrics() { return node.Metrics(); }
  /// The logged reasons why files of pods were not counted.
  std::vector<std::string> Unmeasured() {
    std::vector<std::string> reasons;
    for (const auto& line : node.sink.lines())
      for (const auto& field : line.fields)
        if (line.message.starts_with("cannot measure all files of a pod") && field.key == "err")
          reasons.push_back(field.value);
    return reasons;
  }
  bool HasCondition(const std::string& condition) {
    const auto record = node.pressure.Find("node");
    return std::ranges::find(record->conditions(), condition) != record->conditions().end();
  }
  int CountEvents(const std::string& reason) {
    return static_cast<int>(std::ranges::count(node.events.reasons, reason));
  }

  /// The annotations of the last event with this reason.
  std::map<std::string, std::string> AnnotationsOf(const std::string& reason) {
    std::map<std::string, std::string> annotations;
    for (const auto& event : node.events.all)
      if (event.reason == reason) annotations = event.annotations;
    return annotations;
  }

  TestNode node;
  std::map<std::string, int> calls;
  std::function<void(std::string_view)> on_call;
};

/// The kernel publishes process ids and cgroups.
class KernelStats : public Eviction {
 protected:
  KernelStats() {
    node.config.eviction_hard = {{"pid.available", "100"}};
    Write("/proc/sys/kernel/pid_max", "1000\n");
    Write("/proc/sys/kernel/threads-max", "5000\n");
    Write("/proc/loadavg", "0.1 0.1 0.1 1/200 77\n");
  }
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(node.files.Replace(path, text, {}).ok());
  }
  void ShowCgroups() {
    Write("/proc/self/mountinfo", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }
  void SetProcesses(const std::string& cgroup, int count) {
    std::string pids;
    for (int pid = 1; pid <= count; ++pid) pids += fmt::format("{}\n", pid);
    Write("/sys/fs/cgroup" + cgroup + "/cgroup.procs", pids);
  }
  std::string ContainerOf(const std::string& uid) {
    for (const auto& container : node.runtime.Containers())
      if (container.labels.at(std::string(kube::kPodUidLabel)) == uid) return container.id.str();
    return "";
  }
  void RunOut() {
    Write("/proc/loadavg", "0.1 0.1 0.1 1/950 77\n");
    node.all.Advance(10s);
  }
};

}  // namespace splitlet::gc
