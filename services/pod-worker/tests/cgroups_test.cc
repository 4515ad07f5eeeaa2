#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "k8s.io/api/core/v1/resources.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// The cgroups of pods, from the grant to what is left of them.

namespace splitlet::pod_worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Cgroups : public testing::Test, public TestNode {
 protected:
  Cgroups() {
    config.cgroups = {.enabled = true, .layout = cgroup::FakeKernel::V2(), .pod_pids = 100};
    traced.on_sandbox = [this](const runtime::v1::PodSandboxConfig& made) {
      parents.push_back(made.linux().cgroup_parent());
      there.push_back(parents.back().empty() || kernel.ListDirs(kTop + parents.back()).ok());
    };
  }
  static kube::Pod Asking(TestPod pod, const std::string& requests, const std::string& limits) {
    kube::Pod made = pod.Make();
    for (const char* name : {"cpu", "memory"}) {
      auto& resources = *made.mutable_spec()->mutable_containers(0)->mutable_resources();
      if (!requests.empty()) (*resources.mutable_requests())[name].set_string(requests);
      if (!limits.empty()) (*resources.mutable_limits())[name].set_string(limits);
    }
    return made;
  }
  std::string Value(const std::string& path) {
    return kernel.Read(kTop + path).value_or("no such file");
  }
  /// nothing: there is no such metric.
  std::optional<double> Gauge(const std::string& name) const {
    for (const auto& family : process->registry.Collect())
      if (family.name == name) return family.metric.at(0).gauge.value;
    return std::nullopt;
  }
  std::vector<std::string> PodDirs() const {
    std::vector<std::string> dirs;
    for (const auto& dir : kernel.Dirs())
      if (dir.find("/pod") != std::string::npos) dirs.push_back(dir.substr(kTop.size()));
    return dirs;
  }
  std::vector<std::string> Marks() {
    std::vector<std::string> names;
    if (const auto listed = files.List("/run/pod-worker/cgroups"); listed.ok())
      for (const auto& entry : *listed) names.push_back(entry.name);
    return names;
  }
  void End(const kube::Pod& pod) {
    Remove(pod);
    RunFor(5s);
  }

  const std::string kTop = "/sys/fs/cgroup";
  std::vector<std::string> parents;  // of the sandboxes, as they were made
  std::vector<bool> there;           // it was when the runtime was called
};

TEST_F(Cgroups, APodOfEachClassHasItsOwnUntilItsEnd) {
  const auto best = TestPod{.name = "best", .uid = "uid-best"}.Make();
  const auto burst = Asking({.name = "burst", .uid = "uid-burst"}, "1", "");
  const auto full = Asking({.name = "full", .uid = "uid-full"}, "2", "2");
  Start();
  for (const auto& pod : {best, burst, full}) ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_THAT(parents, ElementsAre("/kubepods/besteffort/poduid-best",
                                   "/kubepods/burstable/poduid-burst", "/kubepods/poduid-full"));
  EXPECT_THAT(there, testing::Each(true));
  EXPECT_EQ(Value(parents[0] + "/cpu.weight"), "1");
  EXPECT_EQ(Value(parents[1] + "/cpu.weight"), "39");
  EXPECT_EQ(Value(parents[1] + "/memory.max"), "");
  EXPECT_EQ(Value(parents[2] + "/cpu.max"), "200000 100000");
  EXPECT_EQ(Value(parents[2] + "/memory.max"), "2");
  for (const auto& parent : parents) EXPECT_EQ(Value(parent + "/pids.max"), "100");
  for (const auto& pod : {best, burst, full}) End(pod);
  EXPECT_THAT(PodDirs(), IsEmpty());
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(Cgroups, WithoutThemTheRuntimePlacesPods) {
  config.cgroups.enabled = false;
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_THAT(parents, ElementsAre(""));
  EXPECT_THAT(kernel.Dirs(), IsEmpty());
}

TEST_F(Cgroups, APodOfBeforeStaysWhereItIs) {
  config.cgroups.enabled = false;
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  config.cgroups.enabled = true;
  Restart();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  Exit("app", 1);
  RunFor(1min);
  EXPECT_THAT(Show(), HasSubstr("app/1=running"));
  EXPECT_THAT(PodDirs(), IsEmpty());
}

/// As a kubelet leaves it: else the next container would be outside of the pod's limits, and the
/// cgroup would stay for ever.
TEST_F(Cgroups, OneThatAKubeletMadeForARunningPodIsTakenOver) {
  const auto pod = TestPod{}.Make();
  const std::string path = "/kubepods/besteffort/poduid-web";
  config.cgroups.enabled = false;
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  config.cgroups.enabled = true;
  Kill();
  for (const char* dir : {"/kubepods", "/kubepods/besteffort", path.c_str()})
    ASSERT_TRUE(kernel.MakeDir(kTop + dir).ok());
  Start();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_THAT(Marks(), ElementsAre("uid-web"));
  NodeInfo node;
  const Log log(sink);
  prometheus::Registry registry;
  Metrics metrics(registry);
  const PodCgroups cgroups({&kernel, files, node, clock, metrics, log, "/run/pod-worker/cgroups"},
                           config.cgroups);
  EXPECT_EQ(cgroups.ParentOf("uid-web").value_or("none"), path) << "of its next container";
  End(pod);
  EXPECT_THAT(PodDirs(), IsEmpty());
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(Cgroups, APodKeepsItsOwnWhenNewOnesGetNone) {
  const auto pod = TestPod{}.Make();
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  config.cgroups.enabled = false;
  Restart();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_THAT(PodDirs(), ElementsAre("/kubepods/besteffort/poduid-web"));
  End(pod);
  EXPECT_THAT(PodDirs(), IsEmpty());
}

TEST_F(Cgroups, OneThatIsRemovedUnderItsPodTakesThePodAlong) {
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  kernel.Drop(kTop + parents[0]);
  Changed();
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=dead sandbox/1=ready");
  EXPECT_THAT(there, ElementsAre(true, true));
  EXPECT_EQ(Value(parents[1] + "/pids.max"), "100");
}

TEST_F(Cgroups, APodThatIsNeverRestartedEndsWithItsOwn) {
  Start();
  ASSERT_TRUE(RunPod(TestPod{.policy = "Never"}.Make()).ok());
  kernel.Drop(kTop + parents[0]);
  Changed();
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=exited(143) sandbox/0=dead");
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
}

TEST_F(Cgroups, WhatIsLeftBehindIsKilled) {
  const auto pod = TestPod{}.Make();
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  kernel.AddProcess(kTop + parents[0], 4711);
  kernel.SetStubborn(4711, 7);
  Remove(pod);
  RunFor(1s);
  EXPECT_EQ(Record()->state(), v1::TERMINATED) << "five rounds were not enough";
  EXPECT_THAT(events.Text("FailedKillPod"),
              HasSubstr("failed to delete cgroup paths for /kubepods/besteffort/poduid-web"));
  RunFor(1min);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_THAT(kernel.killed(), ElementsAre(4711));
  EXPECT_THAT(PodDirs(), IsEmpty());
}

/// The pages of a volume in memory are charged to it.
TEST_F(Cgroups, StaysWhileAVolumeOfThePodDoes) {
  auto pod = Asking({}, "1", "");
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("cache");
  volume.mutable_volume_source()->mutable_empty_dir()->set_medium("Memory");
  MountAt(*pod.mutable_spec()->mutable_containers(0), "cache");
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Value("/kubepods/burstable/poduid-web/cpu.weight"), "39");
  mounts.FailUnmount(FailedPrecondition("busy"));
  End(pod);
  EXPECT_THAT(PodDirs(), ElementsAre("/kubepods/burstable/poduid-web"));
  EXPECT_EQ(Value("/kubepods/burstable/poduid-web/cpu.weight"), "1") << "it competes with nobody";
  mounts.FailUnmount(OkStatus());
  RunFor(5s);
  EXPECT_THAT(PodDirs(), IsEmpty());
}

TEST_F(Cgroups, OneThatCannotBeMadeIsToldAndTriedAgain) {
  Start();
  kernel.FailMakeDir(PermissionDenied("permission denied"));
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(events.Text("FailedCreatePodContainer"),
            "unable to ensure pod container exists: /kubepods/besteffort/poduid-web: make cgroup: "
            "/sys/fs/cgroup/kubepods/besteffort/poduid-web: mkdir: permission denied");
  kernel.FailMakeDir(OkStatus());
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Cgroups, OneThatCannotBeLimitedIsLoggedAlone) {
  Start();
  kernel.FailWrite(kTop + "/kubepods/besteffort/poduid-web/pids.max", InvalidArgument("invalid"));
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Cgroups, WhatAllPodsMayUseIsLimitedAsSoonAsTheKernelTakesIt) {
  config.cgroups.node_limits = {.memory_bytes = 4096};
  const std::string limit = "/kubepods/memory.max";
  kernel.FailWrite(kTop + limit, FailedPrecondition("device or resource busy"));
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(Value("/kubepods/besteffort/cpu.weight"), "1") << "the rest is done";
  EXPECT_EQ(Value(limit), "");
  kernel.FailWrite(kTop + limit, OkStatus());
  RunFor(61s);
  EXPECT_EQ(Value(limit), "4096");
}

/// That the files of this version are not there is logged, and keeps nothing from starting.
TEST_F(Cgroups, TheNodeIsToldOnceOfTheFirstVersion) {
  config.cgroups.layout = cgroup::Layout{.version = cgroup::Version::kV1, .mounts = {}};
  for (const char* controller : {"cpu", "cpuset", "memory", "pids", "systemd", "unified"})
    config.cgroups.layout->mounts[controller] = kTop;
  Start();
  RunFor(3min);
  EXPECT_EQ(events.Count("CgroupV1"), 1);
  EXPECT_THAT(events.Text("CgroupV1"), HasSubstr("Please migrate to cgroup v2."));
  EXPECT_EQ(Gauge("kubelet_cgroup_version"), 1);
}

TEST_F(Cgroups, CallsAreMeasured) {
  Start();
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  End(pod);
  RunFor(2min);
  std::map<std::string, uint64_t> counts;
  for (const auto& family : process->registry.Collect())
    if (family.name == "kubelet_cgroup_manager_duration_seconds")
      for (const auto& metric : family.metric)
        counts[metric.label.at(0).value] = metric.histogram.sample_count;
  EXPECT_EQ(counts["create"], 1u);
  EXPECT_EQ(counts["destroy"], 1u);
  EXPECT_GT(counts["update"], 1u);
  EXPECT_EQ(Gauge("kubelet_cgroup_version"), 2);
  EXPECT_EQ(events.Count("CgroupV1"), 0);
}

TEST_F(Cgroups, TheNodeIsToldWhetherWhatIsReservedIsKept) {
  config.cgroups.enforced = true;
  config.cgroups.node_limits = {.memory_bytes = 4096};
  config.cgroups.reserved = {{.of = "System", .name = {"system"}, .limits = {.cpu_shares = 1024}}};
  ASSERT_TRUE(kernel.MakeDir(kTop + "/system").ok());
  kernel.FailWrite(kTop + "/kubepods/memory.max", FailedPrecondition("device or resource busy"));
  ASSERT_TRUE(kernel.Write(kTop + "/cgroup.subtree_control", "+cpu").ok());
  Start();
  EXPECT_EQ(Value("/system/cpu.weight"), "39");
  RunFor(3min);
  EXPECT_EQ(events.Count("FailedNodeAllocatableEnforcement"), 1) << "once for one reason";
  EXPECT_THAT(events.Text("FailedNodeAllocatableEnforcement"),
              HasSubstr("Failed to update Node Allocatable Limits \"/kubepods\": "));
  EXPECT_EQ(events.Text("NodeAllocatableEnforced"),
            "Updated limits on system reserved cgroup /system");
  kernel.FailWrite(kTop + "/kubepods/memory.max", OkStatus());
  RunFor(3min);
  EXPECT_EQ(events.Count("NodeAllocatableEnforced"), 2);
  EXPECT_EQ(events.events.back().message, "Updated Node allocatable limit across pods");
  EXPECT_TRUE(events.events.back().about_node);
  EXPECT_EQ(events.events.back().name_space, "default");
}

TEST_F(Cgroups, ACgroupOfWhatIsReservedHasToBeThere) {
  Start();
  const cgroup::FakeKernel& tree = kernel;
  ASSERT_THAT(tree.Dirs(), testing::Not(Contains(kTop + "/system")));
  config.cgroups.reserved = {{.of = "System", .name = {"system"}, .limits = {.pids = 10}}};
  NodeInfo node;
  const Log log(sink);
  prometheus::Registry registry;
  Metrics metrics(registry);
  const PodCgroups cgroups({&kernel, files, node, clock, metrics, log, "/run/pod-worker/cgroups"},
                           config.cgroups);
  EXPECT_EQ(Message(cgroups.Prepare()),
            "enforceNodeAllocatable: Failed to enforce System Reserved Cgroup Limits on "
            "\"/system\": \"/system\" cgroup does not exist");
}

TEST_F(Cgroups, AMarkThatWasBeingWrittenWhenItsProcessWasKilledGoes) {
  ASSERT_TRUE(files.Replace("/run/pod-worker/cgroups/.uid-web.new", "/kubepods/podu", {}).ok());
  Start();
  EXPECT_TRUE(files.List("/run/pod-worker/cgroups")->empty());
}

TEST_F(Cgroups, TheSharesOfAClassFollowItsPods) {
  const auto one = Asking({.name = "one", .uid = "uid-one"}, "500m", "");
  const auto two = Asking({.name = "two", .uid = "uid-two"}, "500m", "");
  Start();
  const std::string weight = "/kubepods/burstable/cpu.weight";
  EXPECT_EQ(Value(weight), "1");
  for (const auto& pod : {one, two}) ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Value(weight), "39");
  EXPECT_EQ(Value("/kubepods/besteffort/cpu.weight"), "1");
  ASSERT_TRUE(service().PrepareCgroups().ok());
  EXPECT_EQ(Value(weight), "39") << "a start takes none away";
  End(one);
  EXPECT_EQ(Value(weight), "20");
  kernel.Drop(kTop + "/kubepods/besteffort");
  RunFor(61s);
  EXPECT_EQ(Value("/kubepods/besteffort/cpu.weight"), "1") << "made again";
}

TEST_F(Cgroups, MemoryOfPodsIsKeptForThemAndAbove) {
  config.node.memory_qos = {.on = true, .keep = true};
  const auto burst = Asking({.name = "burst", .uid = "uid-burst"}, "1000", "");
  const auto full = Asking({.name = "full", .uid = "uid-full"}, "500", "500");
  Start();
  for (const auto& pod : {burst, full}) ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Value("/kubepods/poduid-full/memory.min"), "500");
  EXPECT_EQ(Value("/kubepods/poduid-full/memory.low"), "");
  EXPECT_EQ(Value("/kubepods/burstable/poduid-burst/memory.low"), "1000");
  EXPECT_EQ(Value("/kubepods/burstable/memory.low"), "1000");
  EXPECT_EQ(Value("/kubepods/memory.min"), "1500");
  EXPECT_EQ(Gauge("kubelet_memory_qos_node_memory_min_bytes"), 1500);
  EXPECT_EQ(Gauge("kubelet_memory_qos_node_memory_low_bytes"), 1000);
  End(burst);
  EXPECT_EQ(Value("/kubepods/burstable/memory.low"), "0");
  EXPECT_EQ(Value("/kubepods/memory.min"), "500");
  config.node.memory_qos.keep = false;
  Restart();
  RunFor(61s);
  EXPECT_EQ(Value("/kubepods/memory.min"), "0") << "what was kept is given back";
  EXPECT_EQ(Gauge("kubelet_memory_qos_node_memory_min_bytes"), 0);
  EXPECT_EQ(Gauge("kubelet_memory_qos_node_memory_low_bytes"), 0);
}

TEST_F(Cgroups, WithoutTheFeatureNoMemoryIsKept) {
  const auto full = Asking({.name = "full", .uid = "uid-full"}, "500", "500");
  Start();
  ASSERT_TRUE(RunPod(full).ok());
  for (const char* file : {"/kubepods/memory.min", "/kubepods/burstable/memory.low",
                           "/kubepods/poduid-full/memory.min"})
    EXPECT_EQ(Value(file), "") << file;
  EXPECT_EQ(Gauge("kubelet_memory_qos_node_memory_min_bytes"), std::nullopt);
}

/// With slices of systemd, on a bus.
class Slices : public Cgroups {
 protected:
  Slices() {
    config.cgroups.driver = cgroup::Driver::kSystemd;
    system_bus.Serve(cgroup::FakeSystemd::kName,
                     [this](const dbus::MethodCall& call) { return systemd.OnCall(call); });
  }
};

TEST_F(Slices, APodOfEachClassHasItsOwnUntilItsEnd) {
  const auto best = TestPod{.name = "best", .uid = "uid-best"}.Make();
  const auto full = Asking({.name = "full", .uid = "uid-full"}, "2", "2");
  Start();
  for (const auto& pod : {best, full}) ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_THAT(parents, ElementsAre("/kubepods.slice/kubepods-besteffort.slice/"
                                   "kubepods-besteffort-poduid_best.slice",
                                   "/kubepods.slice/kubepods-poduid_full.slice"));
  EXPECT_THAT(there, testing::Each(true));
  EXPECT_EQ(Value(parents[0] + "/pids.max"), "100");
  EXPECT_EQ(systemd.PropertiesOf("kubepods-poduid_full.slice").at("TasksMax"),
            dbus::Value(uint64_t{100}));
  for (const auto& pod : {best, full}) End(pod);
  EXPECT_THAT(systemd.Running(), ElementsAre("kubepods-besteffort.slice",
                                             "kubepods-burstable.slice", "kubepods.slice"));
  for (const auto& dir : kernel.Dirs()) EXPECT_THAT(dir, Not(HasSubstr("poduid")));
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(Slices, WithoutSystemdPodsWaitForIt) {
  Start();
  system_bus.LoseAll();
  system_bus.FailConnect(Unavailable("no such file or directory"));
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_THAT(events.Text("FailedCreatePodContainer"),
              HasSubstr("connect to systemd: connect: no such file or directory"));
  system_bus.FailConnect(OkStatus());
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Slices, OneThatIsStoppedByHandTakesItsPodAlong) {
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  ASSERT_TRUE(slices.Stop("kubepods-besteffort-poduid_web.slice").ok());
  Changed();
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=dead sandbox/1=ready");
  EXPECT_THAT(there, ElementsAre(true, true));
}

/// The mark says who made it.
TEST_F(Slices, OneOfBeforeIsTakenDownBySystemdWhateverTheDriverIsNow) {
  const auto pod = TestPod{}.Make();
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  config.cgroups.driver = cgroup::Driver::kCgroupfs;
  Restart();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  End(pod);
  EXPECT_FALSE(systemd.Runs("kubepods-besteffort-poduid_web.slice"));
  for (const auto& dir : kernel.Dirs()) EXPECT_THAT(dir, Not(HasSubstr("poduid")));
}

/// A mark alone says that a cgroup is ours.
TEST_F(Cgroups, OfPodsThatAreGoneOursGoAlone) {
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  for (const char* uid : {"ours", "theirs"}) {
    ASSERT_TRUE(kernel.MakeDir(kTop + "/kubepods/burstable/pod" + uid).ok());
    kernel.AddProcess(kTop + "/kubepods/burstable/pod" + uid, uid[0]);
  }
  ASSERT_TRUE(
      files.Replace("/run/pod-worker/cgroups/ours", "/kubepods/burstable/podours\n", {}).ok());
  Restart();
  RunFor(61s);
  EXPECT_THAT(PodDirs(),
              ElementsAre("/kubepods/besteffort/poduid-web", "/kubepods/burstable/podtheirs"));
  EXPECT_THAT(Marks(), ElementsAre("uid-web"));
  EXPECT_THAT(kernel.killed(), ElementsAre('o'));
}

TEST_F(Cgroups, AMarkOfAnotherCgroupIsNotFollowed) {
  Start();
  ASSERT_TRUE(kernel.MakeDir(kTop + "/kubepods/poduid-other").ok());
  ASSERT_TRUE(
      files.Replace("/run/pod-worker/cgroups/uid-web", "/kubepods/poduid-other\n", {}).ok());
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_THAT(events.Text("FailedCreatePodContainer"),
              HasSubstr("\"/kubepods/poduid-other\" is not a cgroup of this pod"));
  EXPECT_THAT(PodDirs(), Contains("/kubepods/poduid-other"));
}

}  // namespace
}  // namespace splitlet::pod_worker
