#include "services/gc/measure/stats/volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/daemon/metrics.h"
#include "runtime/v1/api.pb.h"
#include "services/gc/gc_fixture.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A running pod with a volume on disk, one in memory, one of the host and one with a claim.
class Volumes : public testing::Test {
 protected:
  Volumes() {
    pod.mutable_metadata()->set_uid("u1");
    pod.mutable_metadata()->set_name("web");
    pod.mutable_metadata()->set_namespace_("default");
    Add("tmp")->mutable_empty_dir();
    Add("fast")->mutable_empty_dir()->set_medium("Memory");
    Add("host")->mutable_host_path()->set_path("/srv");
    Add("data")->mutable_persistent_volume_claim()->set_claim_name("claim");
    auto& app = *pod.mutable_spec()->add_containers();
    app.set_name("app");
    auto& mount = *app.add_volume_mounts();
    mount.set_name("data");
    mount.set_mount_path("/data/");
  }
  k8s::io::api::core::v1::VolumeSource* Add(const std::string& name) {
    auto& volume = *pod.mutable_spec()->add_volumes();
    volume.set_name(name);
    return volume.mutable_volume_source();
  }
  /// As containerd would.
  void RunPod() {
    node.runtime.AddImage("busybox");
    const cri::TestPod made{.name = "web", .uid = "u1"};
    const auto config = made.Config();
    const Deadline deadline = After(node.clock, 1min);
    const auto sandbox = *node.runtime.RunPodSandbox(config, "", deadline);
    auto container = made.ContainerConfig("app", 0);
    auto& mount = *container.add_mounts();
    mount.set_container_path("/data");
    mount.set_host_path("/disks/one");
    const auto id = *node.runtime.CreateContainer(sandbox, container, config, deadline);
    ASSERT_TRUE(node.runtime.StartContainer(id, deadline).ok());
    v1::RuntimeRecord record;
    record.mutable_pod()->set_uid("u1");
    record.mutable_pod()->set_name("web");
    record.mutable_pod()->set_namespace_("default");
    auto& seen_sandbox = *record.mutable_pod()->add_sandboxes();
    seen_sandbox.set_id(sandbox.str());
    seen_sandbox.set_state(v1::SandboxRecord::READY);
    auto& seen = *record.mutable_pod()->add_containers();
    seen.set_id(id.str());
    seen.set_name("app");
    seen.set_state(v1::ContainerRecord::RUNNING);
    ASSERT_TRUE(node.pods.Put("u1", record).ok());
    v1::DesiredRecord desired;
    desired.set_uid("u1");
    desired.set_name("web");
    desired.set_namespace_("default");
    desired.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(node.desired.Put("u1", desired).ok());
    node.MakePodDir("u1");  // with the volume "tmp"
    ASSERT_TRUE(node.files.MakeDirs("/disks/one", 0755).ok());
    node.files.SetUsage("/disks", {1000, 300, 50, 20});
    node.disk.trees["/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/tmp"] = {4096, 2};
  }
  /// With the same claim, by the same container.
  void RunSecondPod() {
    v1::RuntimeRecord other;
    other.mutable_pod()->set_uid("u2");
    *other.mutable_pod()->add_sandboxes() = node.pods.Get("u1")->pod().sandboxes(0);
    *other.mutable_pod()->add_containers() = node.pods.Get("u1")->pod().containers(0);
    ASSERT_TRUE(node.pods.Put("u2", other).ok());
    v1::DesiredRecord desired;
    desired.set_uid("u2");
    desired.set_namespace_("default");
    desired.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(node.desired.Put("u2", desired).ok());
    node.MakePodDir("u2");
  }
  std::string Metrics() { return daemon::Scrape(node.process->registry); }
  v1::NodeStatsReply Stats() {
    StatusOr<v1::NodeStatsReply> reply = Internal("no answer");
    node.process->loop.Post(
        [&] { node.service().GetStats(false, [&](auto read) { reply = std::move(read); }); });
    node.all.RunUntilIdle();
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : v1::NodeStatsReply();
  }
  TestNode node;
  kube::Pod pod;
};

TEST_F(Volumes, WhichHaveStats) {
  v1::ObservedPod seen;
  auto volumes = VolumesOf(pod, seen);
  ASSERT_EQ(volumes.size(), 2U);  // nothing mounts the claim yet
  EXPECT_EQ(volumes[0].folder, "volumes/kubernetes.io~empty-dir/tmp");
  EXPECT_TRUE(volumes[0].local);
  EXPECT_EQ(volumes[1].name, "fast");
  EXPECT_FALSE(volumes[1].local);
  auto& container = *seen.add_containers();
  container.set_name("app");
  container.set_id("c1");
  container.set_state(v1::ContainerRecord::RUNNING);
  volumes = VolumesOf(pod, seen);
  ASSERT_EQ(volumes.size(), 3U);
  EXPECT_EQ(volumes[2].claim, "claim");
  EXPECT_EQ(volumes[2].container_id, "c1");
  EXPECT_EQ(volumes[2].container_path, "/data/");
}

TEST_F(Volumes, AreMeasuredInTheBackgroundOnceInAPeriod) {
  node.Start();
  RunPod();
  node.all.Advance(20s);
  const auto stats = Stats();
  ASSERT_EQ(stats.pods_size(), 1);
  ASSERT_EQ(stats.pods(0).volumes_size(), 2);  // "fast" was not created
  EXPECT_EQ(stats.pods(0).volumes(0).name(), "tmp");
  EXPECT_EQ(stats.pods(0).volumes(0).fs().used_bytes(), 4096U);
  EXPECT_EQ(stats.pods(0).volumes(0).fs().capacity_bytes(), 100U);
  EXPECT_EQ(stats.pods(0).volumes(1).claim(), "claim");
  EXPECT_EQ(stats.pods(0).volumes(1).fs().available_bytes(), 300U);
  node.disk.trees["/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/tmp"] = {8192, 2};
  node.all.Advance(20s);
  EXPECT_EQ(Stats().pods(0).volumes(0).fs().used_bytes(), 4096U);
  node.all.Advance(60s);
  EXPECT_EQ(Stats().pods(0).volumes(0).fs().used_bytes(), 8192U);
}

TEST_F(Volumes, ClaimsHaveMetricsWhileTheirPodsRun) {
  node.Start();
  EXPECT_THAT(Metrics(), Not(HasSubstr("kubelet_volume_stats")));
  RunPod();
  node.all.Advance(20s);
  const std::string labels = "{namespace=\"default\",persistentvolumeclaim=\"claim\"} ";
  for (const char* line : {"capacity_bytes 1000", "available_bytes 300", "used_bytes 700",
                           "inodes 50", "inodes_free 20", "inodes_used 30"}) {
    const std::string text = line;
    const auto blank = text.find(' ');
    EXPECT_THAT(Metrics(), HasSubstr("kubelet_volume_stats_" + text.substr(0, blank) + labels +
                                     text.substr(blank + 1)));
  }
  // Another pod with the same claim changes nothing.
  RunSecondPod();
  node.all.Advance(20s);
  const std::string text = Metrics();
  const std::string series = "kubelet_volume_stats_used_bytes{";
  EXPECT_EQ(text.find(series), text.rfind(series));
  node.pods.Remove("u1");
  node.all.Advance(20s);
  EXPECT_THAT(Metrics(), HasSubstr(series));
  node.pods.Remove("u2");
  node.all.Advance(20s);
  EXPECT_THAT(Metrics(), Not(HasSubstr("persistentvolumeclaim")));
}

/// Names and contents of the volumes for which a pod has stats.
std::map<std::string, uint64_t> UsedIn(const v1::NodeStatsReply& stats, const std::string& uid) {
  std::map<std::string, uint64_t> used;
  for (const auto& each : stats.pods()) {
    if (each.uid() != uid) continue;
    for (const auto& volume : each.volumes()) used[volume.name()] = volume.fs().used_bytes();
  }
  return used;
}

TEST_F(Volumes, AClaimWhoseServerHangsHoldsUpNothingElse) {
  bool first = true, hangs = true;
  node.on_call = [&](std::string_view method) {
    if (method != "ContainerStatus" || !std::exchange(first, false)) return;
    node.all.WaitInStep(node.clock.Now() + 1h, [&] { return !hangs; });
  };
  node.Start();
  RunPod();
  RunSecondPod();
  v1::NodeStatsReply during;
  node.loop.RunAfter(2min, [&] {
    node.disk.trees["/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/tmp"] = {8192, 2};
  });
  node.loop.RunAfter(4min, [&] {
    node.process->loop.Post(
        [&] { node.service().GetStats(false, [&](auto read) { during = *std::move(read); }); });
  });
  node.loop.RunAfter(5min, [&] { hangs = false; });
  node.all.Advance(6min);
  ASSERT_FALSE(hangs);
  using Used = std::map<std::string, uint64_t>;
  EXPECT_EQ(UsedIn(during, "u1"), (Used{{"tmp", 8192}}));
  EXPECT_EQ(UsedIn(during, "u2"), (Used{{"tmp", 0}, {"data", 0}}));
  node.all.Advance(20s);
  EXPECT_EQ(UsedIn(Stats(), "u1"), (Used{{"tmp", 8192}, {"data", 0}}));
}

TEST_F(Volumes, ClaimsOfAFewPodsAreMeasuredAtATime) {
  int64_t under_way = 0, most = 0;
  bool hang = true;
  node.on_call = [&](std::string_view method) {
    if (method != "ContainerStatus") return;
    most = std::max(most, ++under_way);
    node.all.WaitInStep(node.clock.Now() + 1min, [&] { return !hang; });
    --under_way;
  };
  node.Start();
  RunPod();
  for (int64_t pods = 0; pods < 2 * VolumeMonitor::kMaxWithClaims; ++pods) {
    v1::RuntimeRecord record = *node.pods.Get("u1");
    const std::string uid = fmt::format("more-{}", pods);
    record.mutable_pod()->set_uid(uid);
    ASSERT_TRUE(node.pods.Put(uid, record).ok());
    v1::DesiredRecord desired = *node.desired.Get("u1");
    desired.set_uid(uid);
    ASSERT_TRUE(node.desired.Put(uid, desired).ok());
    node.MakePodDir(uid);
  }
  node.all.Advance(90s);
  EXPECT_EQ(most, VolumeMonitor::kMaxWithClaims);
  hang = false;
  node.all.Advance(2min);
  EXPECT_EQ(UsedIn(Stats(), "more-0").size(), 2U);
}

TEST_F(Volumes, ANegativePeriodSwitchesThemOff) {
  node.config.volume_stats_period = Duration{-1};
  node.Start();
  RunPod();
  node.all.Advance(std::chrono::minutes{2});
  EXPECT_EQ(node.disk.measured, 0);
  EXPECT_EQ(Stats().pods(0).volumes_size(), 0);
}

}  // namespace
}  // namespace splitlet::gc
