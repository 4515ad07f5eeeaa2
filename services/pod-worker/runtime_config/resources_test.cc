#include "services/pod-worker/runtime_config/resources.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/node_fixture.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(Resources, OfAContainer) {
  kube::Pod pod = TestPod{}.Make();
  auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*resources.mutable_requests())["cpu"].set_string("100m");
  (*resources.mutable_limits())["cpu"].set_string("500m");
  (*resources.mutable_limits())["memory"].set_string("128Mi");
  runtime::v1::LinuxContainerResources out;
  SetContainerResources(pod, pod.spec().containers(0), kNode, out);
  EXPECT_EQ(out.cpu_shares(), 102);
  EXPECT_EQ(out.cpu_quota(), 50000);
  EXPECT_EQ(out.cpu_period(), 100000);
  EXPECT_EQ(out.memory_limit_in_bytes(), 128 << 20);
  EXPECT_EQ(CpuShares(0), 2);
  EXPECT_EQ(CpuShares(1'000'000), 262144);
  EXPECT_EQ(CpuQuota(5, 100000), 1000);
}

TEST(Resources, WhatTheNodeAsksFor) {
  NodeInfo node = kNode;
  node.cgroups = {.v2 = true, .oom_group = true, .swap = true};
  node.huge_pages = {{"1GB", "hugepages-1Gi"}, {"2MB", "hugepages-2Mi"}};
  node.cpu_quota = false;
  kube::Pod pod = TestPod{}.Make();
  auto& limits = *pod.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits();
  limits["cpu"].set_string("1");
  limits["memory"].set_string("1Gi");
  limits["hugepages-2Mi"].set_string("4Mi");
  runtime::v1::LinuxContainerResources out;
  SetContainerResources(pod, pod.spec().containers(0), node, out);
  EXPECT_EQ(out.cpu_shares(), 1024);
  EXPECT_EQ(out.cpu_period(), 0) << "CPU limits are not enforced";
  EXPECT_EQ(out.cpu_quota(), 0);
  EXPECT_EQ(out.unified().at("memory.oom.group"), "1");
  EXPECT_EQ(out.unified().at("memory.swap.max"), "0");
  ASSERT_EQ(out.hugepage_limits_size(), 2);
  EXPECT_EQ(out.hugepage_limits(0).limit(), 0u);
  EXPECT_EQ(out.hugepage_limits(1).page_size(), "2MB");
  EXPECT_EQ(out.hugepage_limits(1).limit(), 4u << 20);
  node.cgroups = {.swap = true};
  out.Clear();
  SetContainerResources(pod, pod.spec().containers(0), node, out);
  EXPECT_TRUE(out.unified().empty());
  EXPECT_EQ(out.memory_swap_limit_in_bytes(), 1 << 30);
}

TEST(Resources, APartOfTheNodesSwap) {
  constexpr int64_t kGi = int64_t{1} << 30;
  NodeInfo node = kNode;
  node.cgroups = {.v2 = true, .swap = true, .limited_swap = true};
  node.memory_bytes = 16 * kGi;
  node.swap_bytes = 8 * kGi;
  const struct {
    const char *name, *request, *limit, *priority_class, *want;
  } kCases[] = {
      {"Burstable", "1Gi", "2Gi", "", "536870912"},
      {"Burstable without a limit", "1Gi", "", "", "536870912"},
      {"as much as it asks for", "1Gi", "1Gi", "", "0"},
      {"BestEffort", "", "", "", "0"},
      {"a critical pod", "1Gi", "2Gi", "system-node-critical", "0"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = TestPod{.source = "api"}.Make();
    auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
    if (*c.request != 0) (*resources.mutable_requests())["memory"].set_string(c.request);
    if (*c.limit != 0) (*resources.mutable_limits())["memory"].set_string(c.limit);
    if (*c.priority_class != 0) {
      pod.mutable_spec()->set_priority_class_name(c.priority_class);
      pod.mutable_spec()->set_priority(2000001000);
    }
    runtime::v1::LinuxContainerResources out;
    SetContainerResources(pod, pod.spec().containers(0), node, out);
    EXPECT_EQ(out.unified().at("memory.swap.max"), c.want);
  }
}

TEST(Resources, MemoryThatIsKeptAndWhereAContainerIsSlowedDown) {
  NodeInfo node = kNode;
  node.allocatable.memory_bytes = int64_t{10} << 30;
  node.cgroups.v2 = true;
  const struct {
    const char *name, *cpu, *request, *limit;
    MemoryQos qos;
    const char* want;
  } kCases[] = {
      {"off", "", "1Gi", "2Gi", {}, ""},
      {"between request and limit", "", "1Gi", "2Gi", {.on = true}, "memory.high=2040107008"},
      {"without a limit, of what pods may use",
       "",
       "1Gi",
       "",
       {.on = true},
       "memory.high=9771048960"},
      {"the factor counts",
       "",
       "1Gi",
       "2Gi",
       {.on = true, .throttling_factor = 0.5},
       "memory.high=1610612736"},
      {"whole pages",
       "",
       "1Gi",
       "2Gi",
       {.on = true, .page_bytes = 65536},
       "memory.high=2040070144"},
      {"not above the request", "", "4096", "4100", {.on = true}, ""},
      {"as much as it asks for", "", "1Gi", "1Gi", {.on = true}, ""},
      {"asks for nothing", "", "", "", {.on = true, .keep = true}, ""},
      {"kept, Burstable",
       "",
       "1Gi",
       "2Gi",
       {.on = true, .keep = true},
       "memory.high=2040107008 memory.low=1073741824"},
      {"kept, Guaranteed", "1", "1Gi", "1Gi", {.on = true, .keep = true}, "memory.min=1073741824"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = TestPod{}.Make();
    auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
    if (*c.request != 0) (*resources.mutable_requests())["memory"].set_string(c.request);
    if (*c.limit != 0) (*resources.mutable_limits())["memory"].set_string(c.limit);
    for (auto* given : {resources.mutable_requests(), resources.mutable_limits()})
      if (*c.cpu != 0) (*given)["cpu"].set_string(c.cpu);
    node.memory_qos = c.qos;
    runtime::v1::LinuxContainerResources out;
    SetContainerResources(pod, pod.spec().containers(0), node, out);
    std::string shown;
    for (const auto& [file, value] :
         std::map<std::string, std::string>(out.unified().begin(), out.unified().end()))
      shown += fmt::format("{}{}={}", shown.empty() ? "" : " ", file, value);
    EXPECT_EQ(shown, c.want);
  }
}

TEST(Resources, OfTheNodeAsItsFilesSay) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  EXPECT_FALSE(ReadCgroups(files, false).v2);
  const auto write = [&files](const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.MakeDirs(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files.Replace(path, text, {.mode = 0644}).ok());
  };
  write("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "");
  EXPECT_TRUE(ReadCgroups(files, false).swap);
  write("/sys/fs/cgroup/cgroup.controllers", "cpu memory");
  write("/proc/self/cgroup", "0::/system.slice/x.service\n");
  Cgroups cgroups = ReadCgroups(files, false);
  EXPECT_TRUE(cgroups.v2 && cgroups.oom_group && !cgroups.swap);
  write("/sys/fs/cgroup/system.slice/x.service/memory.swap.max", "max");
  cgroups = ReadCgroups(files, true);
  EXPECT_TRUE(cgroups.v2 && !cgroups.oom_group && cgroups.swap);
  EXPECT_FALSE(ReadSelinux(files));
  write("/sys/fs/selinux/enforce", "0");
  EXPECT_TRUE(ReadSelinux(files));
  write("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "0");
  write("/sys/devices/system/cpu/cpufreq/thermal_throttle/x", "0");
  EXPECT_EQ(ReadThermalPaths(files),
            std::vector<std::string>{"/sys/devices/system/cpu/cpu1/thermal_throttle"});
}

TEST(Resources, AllocatableInTheUnitsOfTheDownwardApi) {
  const auto resources =
      node::ComputeNodeResources({.cpus = 4, .memory_bytes = 16LL << 30, .storage_bytes = 1000},
                                 {.system_reserved = {{"cpu", "500m"}, {"memory", "1Gi"}}});
  ASSERT_TRUE(resources.ok()) << resources.status();
  const NodeInfo::Allocatable left = AllocatableOf(*resources);
  EXPECT_EQ(left.cpu_millicores, 3500);
  EXPECT_EQ(left.memory_bytes, 15LL << 30);
  EXPECT_EQ(left.storage_bytes, 1000);
}

TEST(Resources, OfTheWholePodAndItsOverhead) {
  kube::Pod pod = TestPod{.containers = {"a", "b"}}.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers()) {
    (*container.mutable_resources()->mutable_requests())["cpu"].set_string("500m");
    (*container.mutable_resources()->mutable_limits())["memory"].set_string("1Gi");
  }
  (*pod.mutable_spec()->mutable_overhead())["memory"].set_string("64Mi");
  runtime::v1::PodSandboxConfig out;
  SetPodResources(pod, kNode, out);
  EXPECT_EQ(out.linux().resources().cpu_shares(), 1024);
  EXPECT_EQ(out.linux().resources().memory_limit_in_bytes(), 2LL << 30);
  EXPECT_EQ(out.linux().overhead().memory_limit_in_bytes(), 64 << 20);
  EXPECT_TRUE(out.linux().resources().unified().empty());
  NodeInfo node = kNode;
  node.cgroups = {.v2 = true, .oom_group = true};
  SetPodResources(pod, node, out);
  EXPECT_EQ(out.linux().resources().unified().at("memory.oom.group"), "1");
  EXPECT_EQ(out.linux().overhead().unified().at("memory.oom.group"), "1");
}

TEST(Resources, OomScoreOfASidecarAndOfWhatThePodAsksForItself) {
  kube::Pod pod = TestPod{.inits = {"side"}, .sidecars = {"side"}}.Make();
  auto& app = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*app.mutable_requests())["memory"].set_string("2Gi");
  const auto& sidecar = pod.spec().init_containers(0);
  EXPECT_EQ(OomScoreAdj(pod, sidecar, kNode), 800) << "it outlives the container that it serves";
  (*pod.mutable_spec()->mutable_resources()->mutable_requests())["memory"].set_string("4Gi");
  EXPECT_EQ(OomScoreAdj(pod, pod.spec().containers(0), kNode), 700);
  EXPECT_EQ(OomScoreAdj(pod, sidecar, kNode), 700) << "each has its share, a sidecar too";
}

TEST(Resources, OomScoreByQos) {
  const struct {
    const char *name, *request, *limit;
    bool cpu_too;
    int64_t score;
  } kCases[] = {
      {"nothing asked for", "", "", false, 1000},
      {"a tenth of the node", "1Gi", "", false, 900},
      {"the whole node", "10Gi", "", false, 3},
      {"a sliver", "1", "", false, 999},
      {"request is limit", "1Gi", "1Gi", true, -997},
      {"memory alone", "1Gi", "1Gi", false, 900},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = TestPod{}.Make();
    auto& resources = *pod.mutable_spec()->mutable_containers(0)->mutable_resources();
    if (*c.request != '\0') (*resources.mutable_requests())["memory"].set_string(c.request);
    if (*c.limit != '\0') (*resources.mutable_limits())["memory"].set_string(c.limit);
    if (c.cpu_too) {
      (*resources.mutable_limits())["cpu"].set_string("1");
      (*resources.mutable_requests())["cpu"].set_string("1");
    }
    EXPECT_EQ(OomScoreAdj(pod, pod.spec().containers(0), kNode), c.score);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
