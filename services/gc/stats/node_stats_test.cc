#include "services/gc/stats/node_stats.h"

#include <gtest/gtest.h>

#include "libs/cri/fake_runtime.h"
#include "libs/fs/fake_file_system.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

TEST(NodeStats, ReadsTheKernelsFigures) {
  EXPECT_EQ(CpuUsage("cpu  100 10 50 9000 7 3 2 1 0 0\ncpu0 1 1\n"), 165U * 10'000'000);
  EXPECT_EQ(CpuUsage("nothing"), std::nullopt);
  EXPECT_EQ(BootTimeOf("cpu 1\nbtime 1700000000\nprocesses 3\n"), 1'700'000'000);
  EXPECT_EQ(BootTimeOf(""), std::nullopt);
  const auto memory =
      MemoryOf("MemTotal: 1000 kB\nMemFree: 200 kB\nActive(file): 10 kB\nInactive(file): 300 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->usage, 800U * 1024);
  EXPECT_EQ(memory->working_set, 500U * 1024);
  EXPECT_EQ(memory->available, 500U * 1024);
  EXPECT_FALSE(MemoryOf("MemTotal: 1 kB\n"));
}

TEST(NodeStats, AFigureThatIsNotKnownIsAbsent) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  ASSERT_TRUE(files.MakeDirs("/kubelet", 0755).ok());
  files.SetUsage("/",
                 {.capacity_bytes = 100, .available_bytes = 40, .inodes = 9, .inodes_free = 5});
  cri::FakeRuntime runtime(clock);
  const auto stats = ReadNodeStats(
      {.clock = clock, .files = files, .images = runtime, .stats = runtime, .root_dir = "/kubelet"},
      After(clock, Duration{1}));
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->node_fs().available_bytes(), 40U);
  EXPECT_FALSE(stats->node().has_cpu_usage_core_ns());
  EXPECT_FALSE(stats->node().has_memory_total_bytes());
  EXPECT_EQ(stats->containers_size(), 0);
}

}  // namespace
}  // namespace splitlet::gc
