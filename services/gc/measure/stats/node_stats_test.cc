#include "services/gc/measure/stats/node_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/cri/fake_runtime.h"
#include "libs/fs/fake_file_system.h"
#include "services/gc/measure/fake_tree_meter.h"
#include "services/gc/measure/meminfo.h"
#include "services/gc/measure/stats/interfaces.h"
#include "services/gc/measure/stats/system_usage.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kV2Mounts =
    "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kNetDev =
    "Inter-|   Receive                            |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
    "    lo:     100       1    0    0    0     0          0         0      100       1    0    0"
    "    0     0       0          0\n"
    "  net1:      11      12   13   14    0     0          0         0       15      16   17   18"
    "    0     0       0          0\n"
    "  eth0:       1       2    3    4    0     0          0         0        5       6    7    8"
    "    0     0       0          0\n"
    "veth12:       9       9    9    9    0     0          0         0        9       9    9    9"
    "    0     0       0          0\n"
    " broken: 1 2\n";

TEST(NodeStats, ReadsTheKernelsStats) {
  EXPECT_EQ(CpuUsage("cpu  100 10 50 9000 7 3 2 1 0 0\ncpu0 1 1\n"), 165U * 10'000'000);
  EXPECT_EQ(CpuUsage("nothing"), std::nullopt);
  EXPECT_EQ(BootTimeOf("cpu 1\nbtime 1700000000\nprocesses 3\n"), 1'700'000'000);
  EXPECT_EQ(BootTimeOf(""), std::nullopt);
  const auto memory = MemoryOf(
      "MemTotal: 1000 kB\nMemFree: 100 kB\nActive(anon): 200 kB\nInactive(anon): 50 kB\n"
      "Active(file): 240 kB\nInactive(file): 300 kB\nUnevictable: 10 kB\nSlab: 100 kB\n"
      "AnonPages: 50 kB\nSwapTotal: 40 kB\nSwapFree: 30 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->usage, 800U * 1024);
  EXPECT_EQ(memory->working_set, 500U * 1024);
  EXPECT_EQ(memory->available, 500U * 1024);
  EXPECT_EQ(memory->rss, 50U * 1024);
  EXPECT_EQ(memory->swap_used, 10U * 1024);
  EXPECT_FALSE(MemoryOf("MemFree: 1 kB\n"));
}

TEST(NodeStats, InterfacesWithTheDefaultOneFirst) {
  const auto interfaces = ParseInterfaces(kNetDev);
  ASSERT_EQ(interfaces.size(), 2U);
  EXPECT_EQ(interfaces[0].name(), "eth0");
  EXPECT_EQ(interfaces[0].rx_bytes(), 1U);
  EXPECT_EQ(interfaces[0].rx_packets(), 2U);
  EXPECT_EQ(interfaces[0].rx_errors(), 3U);
  EXPECT_EQ(interfaces[0].rx_dropped(), 4U);
  EXPECT_EQ(interfaces[0].tx_bytes(), 5U);
  EXPECT_EQ(interfaces[0].tx_packets(), 6U);
  EXPECT_EQ(interfaces[0].tx_errors(), 7U);
  EXPECT_EQ(interfaces[0].tx_dropped(), 8U);
  EXPECT_EQ(interfaces[1].name(), "net1");
}

TEST(CgroupUsage, WhereAProcessIs) {
  const std::string text = "4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/d\n";
  const CgroupAt v1 = ParseProcCgroup(text, cgroup::Version::kV1);
  EXPECT_EQ(v1.path, "/a/b");
  EXPECT_EQ(v1.Of("cpuacct"), "/c");
  EXPECT_EQ(v1.Of("pids"), "/a/b");
  const CgroupAt v2 = ParseProcCgroup(text, cgroup::Version::kV2);
  EXPECT_EQ(v2.path, "/d");
  EXPECT_EQ(v2.Of("memory"), "/d");
}

TEST(CgroupUsage, Pressure) {
  v1::PressureStats stats;
  EXPECT_TRUE(
      ParsePressure("some avg10=1.50 avg60=0.25 avg300=0.00 total=1234\n"
                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
                    stats));
  EXPECT_EQ(stats.some().avg10(), 1.5);
  EXPECT_EQ(stats.some().total_us(), 1234U);
  EXPECT_EQ(stats.full().total_us(), 5U);
  EXPECT_FALSE(ParsePressure("nothing\n", stats));
}

class OneContainer final : public cri::Stats {
 public:
  StatusOr<std::vector<cri::ContainerStats>> ListContainerStats(Deadline) override {
    return std::vector<cri::ContainerStats>{{.id = cri::ContainerId("c1")}};
  }
};

class StatsOfNode : public testing::Test {
 protected:
  StatsOfNode() {
    EXPECT_TRUE(files.MakeDirs("/kubelet", 0755).ok());
    files.SetUsage("/",
                   {.capacity_bytes = 100, .available_bytes = 40, .inodes = 9, .inodes_free = 5});
  }
  void Write(const std::string& path, const std::string& text) {
    EXPECT_TRUE(files.Replace(path, text, {}).ok());
  }
  void WriteV2(const std::string& path, uint64_t cpu_us) {
    const std::string top = "/sys/fs/cgroup" + path + "/";
    Write(top + "cpu.stat",
          fmt::format("usage_usec {}\nuser_usec 2\nsystem_usec 3\nnr_periods 4\n", cpu_us));
    Write(top + "cpu.max", "max 100000\n");
    Write(top + "cpu.weight", "1\n");
    Write(top + "memory.current", "1000\n");
    Write(top + "memory.max", "4000\n");
    Write(top + "memory.swap.current", "7\n");
    Write(top + "memory.swap.max", "max\n");
    Write(top + "memory.stat", "anon 300\nfile 500\ninactive_file 200\npgfault 8\npgmajfault 1\n");
    Write(top + "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
    Write(top + "io.stat", "252:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n");
    Write(top + "pids.current", "3\n");
    Write(top + "cgroup.procs", "0\n77\n");
  }
  StatusOr<v1::NodeStatsReply> Read(const StatsInput& input = {}) {
    return ReadNodeStats({.clock = clock,
                          .files = files,
                          .images = runtime,
                          .stats = *containers,
                          .meter = meter,
                          .runtime_pid = [] { return std::optional<int64_t>(55); },
                          .root_dir = "/kubelet",
                          .pods_dir = "/state/pods",
                          .pod_logs_dir = "/var/log/pods"},
                         input, After(clock, Duration{1}));
  }

  FakeClock clock;
  fs::FakeFileSystem files{clock};
  cri::FakeRuntime runtime{clock};
  cri::Stats* containers = &runtime;
  FakeTreeMeter::Disk disk;
  FakeTreeMeter meter{disk};
};

TEST_F(StatsOfNode, AFigureThatIsNotKnownIsAbsent) {
  const auto stats = Read();
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->node_fs().available_bytes(), 40U);
  EXPECT_FALSE(stats->node().has_cpu_usage_core_ns());
  EXPECT_FALSE(stats->node().has_memory_total_bytes());
  EXPECT_FALSE(stats->node().has_memory_pressure());
  EXPECT_EQ(stats->containers_size(), 0);
  EXPECT_EQ(stats->system_containers_size(), 0);
}

TEST_F(StatsOfNode, WhereContainersWriteIsShownWhenItIsApartFromImages) {
  for (const char* const path : {"/images", "/layers"})
    EXPECT_TRUE(files.MakeDirs(path, 0755).ok());
  files.SetUsage("/images", {.capacity_bytes = 200, .available_bytes = 80});
  files.SetUsage("/layers", {.capacity_bytes = 300, .available_bytes = 90});
  runtime.SetImageFs({.mountpoint = "/images", .used_bytes = 7, .inodes_used = 1});
  runtime.SetContainerFs({.mountpoint = "/layers", .used_bytes = 8, .inodes_used = 2});
  for (const bool apart : {false, true}) {
    SCOPED_TRACE(apart);
    disk.devices["/layers"] = apart ? 3 : 1;
    const auto stats = Read();
    ASSERT_TRUE(stats.ok()) << stats.status();
    EXPECT_EQ(stats->image_fs().available_bytes(), 80U);
    EXPECT_EQ(stats->image_fs().used_bytes(), 7U);
    ASSERT_EQ(stats->has_container_fs(), apart);
    EXPECT_EQ(stats->container_fs().available_bytes(), apart ? 90U : 0U);
    EXPECT_EQ(stats->container_fs().used_bytes(), apart ? 8U : 0U);
  }
}

TEST_F(StatsOfNode, PodsByTheirCgroupsNetworksAndFiles) {
  const std::string pods = "/kubepods.slice/kubepods-besteffort.slice";
  const std::string pod = pods + "/kubepods-besteffort-podu_1.slice";
  Write("/proc/self/mountinfo", kV2Mounts);
  EXPECT_TRUE(files.MakeDirs("/sys/dev/block", 0755).ok());
  EXPECT_TRUE(files.MakeSymlink("../../devices/virtio/vda", "/sys/dev/block/252:0").ok());
  WriteV2("/kubepods.slice", 9000);
  WriteV2(pod, 5000);
  WriteV2(pod + "/cri-containerd-s1.scope", 1);
  WriteV2(pod + "/cri-containerd-c1.scope", 2);
  Write("/sys/fs/cgroup" + pod + "/cri-containerd-c1.scope/kubepods.slice/memory.current", "1");
  Write("/proc/77/net/dev", kNetDev);
  Write("/var/log/pods/default_web_u-1/odd", "12345");
  disk.trees["/var/log/pods/default_web_u-1/app"] = {4096, 2};
  Write("/kubelet/pods/u-1/etc-hosts", "1234567");
  disk.trees["/kubelet/pods/u-1/containers"] = {8192, 3};
  const auto volume = std::make_shared<v1::VolumeStats>();
  volume->set_name("tmp");
  volume->mutable_fs()->set_used_bytes(1000);
  volume->mutable_fs()->set_inodes_used(1);
  const auto claimed = std::make_shared<v1::VolumeStats>(*volume);
  claimed->set_name("data");
  const auto stats = Read({.pods = {{.uid = "u-1",
                                     .name_space = "default",
                                     .name = "web",
                                     .sandbox = "s1",
                                     .containers = {{"c1", "app"}}}},
                           .volumes = {{"u-1", {{volume, true}, {claimed, false}}}}});
  ASSERT_TRUE(stats.ok()) << stats.status();
  ASSERT_EQ(stats->pods_size(), 1);
  const v1::PodStats& found = stats->pods(0);
  EXPECT_EQ(found.usage().cgroup(), pod);
  EXPECT_EQ(found.usage().cpu_usage_core_ns(), 5'000'000U);
  EXPECT_EQ(found.usage().memory_working_set_bytes(), 800U);
  EXPECT_EQ(found.usage().memory_rss_bytes(), 300U);
  EXPECT_EQ(found.usage().memory_limit_bytes(), 4000U);
  EXPECT_FALSE(found.usage().has_swap_limit_bytes());
  EXPECT_EQ(found.usage().cpu_shares(), 2U);
  EXPECT_FALSE(found.usage().has_cpu_quota_us());
  EXPECT_EQ(found.usage().memory_pressure().some().total_us(), 9U);
  EXPECT_EQ(found.usage().devices(0).name(), "/dev/vda");
  EXPECT_EQ(found.processes(), 4U);
  ASSERT_EQ(found.interfaces_size(), 2);
  EXPECT_EQ(found.interfaces(0).name(), "eth0");
  ASSERT_EQ(found.logs_size(), 1);
  EXPECT_EQ(found.logs(0).used_bytes(), 4096U);
  EXPECT_EQ(found.volumes_size(), 2);
  EXPECT_EQ(found.local_bytes(), 5U + 4096 + 7 + 8192 + 1000) << "the last is the volume's";
  EXPECT_EQ(found.local_inodes(), 1U + 2 + 1 + 3 + 1);
  ASSERT_EQ(stats->system_containers_size(), 1);
  EXPECT_EQ(stats->system_containers(0).name(), "pods");
  EXPECT_EQ(stats->system_containers(0).usage().cgroup(), "/kubepods.slice");
}

TEST_F(StatsOfNode, Version1AndSystemContainers) {
  std::string mounts;
  for (const char* name : {"cpu", "cpuacct", "memory", "pids"})
    mounts += fmt::format("1 1 0:1 / /sys/fs/cgroup/{0} rw - cgroup cgroup rw,{0}\n", name);
  Write("/proc/self/mountinfo", mounts);
  Write(
      "/proc/self/cgroup",
      "2:memory:/system.slice/splitlet-gc.service\n1:cpuacct:/system.slice/splitlet-gc.service\n");
  Write("/proc/55/cgroup", "2:memory:/system.slice/containerd.service\n1:cpuacct:/\n");
  const auto write = [this](const std::string& unit, uint64_t bytes) {
    const std::string path = "/system.slice/" + unit + "/";
    Write("/sys/fs/cgroup/memory" + path + "memory.usage_in_bytes", std::to_string(bytes));
    Write("/sys/fs/cgroup/memory" + path + "memory.stat", "total_inactive_file 1\ntotal_rss 4\n");
    Write("/sys/fs/cgroup/memory" + path + "memory.limit_in_bytes", "9223372036854771712\n");
    Write("/sys/fs/cgroup/cpuacct" + path + "cpuacct.usage", "100\n");
  };
  write("splitlet-gc.service", 10);
  write("splitlet-pleg.service", 20);
  write("other.service", 40);
  write("containerd.service", 80);
  Write("/sys/fs/cgroup/cpuacct/cpuacct.usage", "5000\n");
  const auto stats = Read();
  ASSERT_TRUE(stats.ok()) << stats.status();
  ASSERT_EQ(stats->system_containers_size(), 2);
  const auto& ours = stats->system_containers(0);
  EXPECT_EQ(ours.name(), "kubelet");
  EXPECT_EQ(ours.usage().memory_usage_bytes(), 30U);
  EXPECT_EQ(ours.usage().memory_working_set_bytes(), 28U);
  EXPECT_EQ(ours.usage().cpu_usage_core_ns(), 200U);
  EXPECT_GT(ours.started_at_wall_ns(), 0);
  const auto& theirs = stats->system_containers(1);
  EXPECT_EQ(theirs.name(), "runtime");
  EXPECT_EQ(theirs.usage().memory_rss_bytes(), 4U);
  EXPECT_FALSE(theirs.usage().has_memory_limit_bytes());
  EXPECT_EQ(theirs.usage().cpu_usage_core_ns(), 5000U);
}

TEST_F(StatsOfNode, PodsWithoutACommonCgroupAreTheWholeMachine) {
  Write("/proc/stat", "cpu  100 10 50 9000 7 3 2 1 0 0\nbtime 1700000000\n");
  Write("/proc/meminfo", "MemTotal: 1000 kB\nActive(anon): 500 kB\nInactive(file): 300 kB\n");
  Write("/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
  const auto stats = Read();
  ASSERT_TRUE(stats.ok()) << stats.status();
  ASSERT_EQ(stats->system_containers_size(), 1);
  const auto& pods = stats->system_containers(0);
  EXPECT_EQ(pods.name(), "pods");
  EXPECT_EQ(pods.started_at_wall_ns(), 1'700'000'000'000'000'000);
  EXPECT_EQ(pods.usage().cgroup(), "/");
  EXPECT_EQ(pods.usage().cpu_usage_core_ns(), stats->node().cpu_usage_core_ns());
  EXPECT_EQ(pods.usage().memory_limit_bytes(), 1000U * 1024);
  EXPECT_EQ(pods.usage().memory_working_set_bytes(), 500U * 1024);
  EXPECT_EQ(pods.usage().io_pressure().some().total_us(), 9U);
}

TEST_F(StatsOfNode, DetailsForWhoAsksForThem) {
  const std::string pod = "/kubepods/podu1", container = pod + "/c1";
  Write("/proc/self/mountinfo", kV2Mounts);
  for (const std::string& path : {pod, container}) {
    WriteV2(path, 5000);
    Write("/sys/fs/cgroup" + path + "/memory.peak", "1500\n");
    Write("/sys/fs/cgroup" + path + "/cgroup.procs", "77\n");
  }
  Write("/proc/77/status", "FDSize:\t64\n");
  EXPECT_TRUE(files.MakeDirs("/proc/77/fd", 0755).ok());
  EXPECT_TRUE(files.MakeSymlink("socket:[1]", "/proc/77/fd/0").ok());
  OneContainer one;
  containers = &one;
  StatsInput input{.pods = {{.uid = "u1", .containers = {{"c1", "app"}}}}};
  for (const bool details : {false, true}) {
    SCOPED_TRACE(details);
    input.details = details;
    const auto stats = Read(input);
    ASSERT_TRUE(stats.ok()) << stats.status();
    ASSERT_EQ(stats->containers_size(), 1);
    const auto& found = stats->containers(0).usage();
    EXPECT_EQ(found.cgroup(), container);
    EXPECT_EQ(found.memory_max_usage_bytes(), details ? 1500U : 0U);
    EXPECT_EQ(found.sockets(), details ? 1U : 0U);
    EXPECT_EQ(found.has_open_files(), details);
    ASSERT_EQ(stats->pods_size(), 1);
    EXPECT_EQ(stats->pods(0).usage().memory_max_usage_bytes(), details ? 1500U : 0U);
    EXPECT_FALSE(stats->pods(0).usage().has_open_files());
  }
}

TEST_F(StatsOfNode, CgroupsAreFoundByWhatTheirNamesSay) {
  for (const char* path :
       {"/kubepods/pod1/abc", "/system.slice/crio-def.scope", "/system.slice/crio-conmon-ghi.scope",
        "/kubepods/burstable/pod2", "/other"})
    EXPECT_TRUE(files.MakeDirs(std::string("/sys/fs/cgroup") + path, 0755).ok());
  const cgroup::Layout layout{.version = cgroup::Version::kV2, .mounts = {{"", "/sys/fs/cgroup"}}};
  const CgroupTree tree = FindCgroups(files, layout, {"abc", "def", "ghi"});
  EXPECT_THAT(tree.by_id, UnorderedElementsAre(Pair("abc", "/kubepods/pod1/abc"),
                                               Pair("def", "/system.slice/crio-def.scope")));
  EXPECT_THAT(tree.by_uid, UnorderedElementsAre(Pair("1", "/kubepods/pod1"),
                                                Pair("2", "/kubepods/burstable/pod2")));
  EXPECT_EQ(tree.all_pods, "/kubepods");
}

}  // namespace
}  // namespace splitlet::gc
