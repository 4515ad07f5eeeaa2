#include "services/gc/measure/cgroup_usage.h"

#include <gtest/gtest.h>

#include <utility>

#include "libs/fs/fake_file_system.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

using U = v1::UsageStats;
using Contents = std::vector<std::pair<const char*, const char*>>;  // path below the mount, text
using Got = std::optional<uint64_t>;

constexpr const char* kTop = "/sys/fs/cgroup/";

cgroup::Layout LayoutOf(cgroup::Version version) {
  cgroup::Layout layout{.version = version, .mounts = {}};
  if (version == cgroup::Version::kV2) {
    layout.mounts[""] = "/sys/fs/cgroup";
  } else {
    for (const char* name : {"cpu", "memory", "pids", "blkio"})
      layout.mounts[name] = std::string(kTop) + name;
  }
  return layout;
}

U Read(cgroup::Version version, const Contents& contents) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  for (const auto& [path, text] : contents)
    EXPECT_TRUE(files.Replace(std::string(kTop) + path, text, {}).ok());
  const cgroup::Layout layout = LayoutOf(version);
  const CgroupAt at{.path = "/c", .other = {}};
  U usage = ReadCgroup(files, layout, at);
  ReadCgroupDetails(files, layout, at, usage);
  return usage;
}

constexpr auto kV1 = cgroup::Version::kV1;
constexpr auto kV2 = cgroup::Version::kV2;

const struct {
  const char* name;
  cgroup::Version version;
  Contents contents;
  bool (U::*has)() const;
  uint64_t (U::*get)() const;
  Got want;
} kDetails[] = {
    {"v2: peak of memory",
     kV2,
     {{"c/memory.peak", "77\n"}},
     &U::has_memory_max_usage_bytes,
     &U::memory_max_usage_bytes,
     77},
    {"v2: a kernel that does not note it",
     kV2,
     {},
     &U::has_memory_max_usage_bytes,
     &U::memory_max_usage_bytes,
     std::nullopt},
    {"v2: how often memory was at its limit",
     kV2,
     {{"c/memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\n"}},
     &U::has_memory_limit_hits,
     &U::memory_limit_hits,
     3},
    {"v2: kills",
     kV2,
     {{"c/memory.events", "low 1\nmax 3\noom 4\noom_kill 5\n"}},
     &U::has_oom_kills,
     &U::oom_kills,
     5},
    {"v2: memory that is kept for it",
     kV2,
     {{"c/memory.min", "4096\n"}},
     &U::has_memory_reservation_bytes,
     &U::memory_reservation_bytes,
     4096},
    {"v2: none is kept",
     kV2,
     {{"c/memory.min", "0\n"}},
     &U::has_memory_reservation_bytes,
     &U::memory_reservation_bytes,
     0},
    {"v2: memory of the kernel",
     kV2,
     {{"c/memory.stat", "anon 1\nkernel 9\n"}},
     &U::has_memory_kernel_bytes,
     &U::memory_kernel_bytes,
     9},
    {"v2: active files",
     kV2,
     {{"c/memory.stat", "active_file 6\n"}},
     &U::has_memory_active_file_bytes,
     &U::memory_active_file_bytes,
     6},
    {"v2: bursts",
     kV2,
     {{"c/cpu.stat", "usage_usec 1\nnr_bursts 2\nburst_usec 3\n"}},
     &U::has_cpu_burst_ns,
     &U::cpu_burst_ns,
     3000},
    {"v2: most threads", kV2, {{"c/pids.max", "100\n"}}, &U::has_max_threads, &U::max_threads, 100},
    {"v2: threads without a limit",
     kV2,
     {{"c/pids.max", "max\n"}},
     &U::has_max_threads,
     &U::max_threads,
     0},
    {"v2: threads without a count", kV2, {}, &U::has_max_threads, &U::max_threads, std::nullopt},
    {"v1: peak of memory",
     kV1,
     {{"memory/c/memory.max_usage_in_bytes", "77\n"}},
     &U::has_memory_max_usage_bytes,
     &U::memory_max_usage_bytes,
     77},
    {"v1: how often memory was at its limit",
     kV1,
     {{"memory/c/memory.failcnt", "3\n"}},
     &U::has_memory_limit_hits,
     &U::memory_limit_hits,
     3},
    {"v1: kills",
     kV1,
     {{"memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"}},
     &U::has_oom_kills,
     &U::oom_kills,
     5},
    {"v1: a kernel that does not count kills",
     kV1,
     {{"memory/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n"}},
     &U::has_oom_kills,
     &U::oom_kills,
     std::nullopt},
    {"v1: a soft limit",
     kV1,
     {{"memory/c/memory.soft_limit_in_bytes", "4096\n"}},
     &U::has_memory_reservation_bytes,
     &U::memory_reservation_bytes,
     4096},
    {"v1: no soft limit",
     kV1,
     {{"memory/c/memory.soft_limit_in_bytes", "9223372036854771712\n"}},
     &U::has_memory_reservation_bytes,
     &U::memory_reservation_bytes,
     0},
    {"v1: memory of the kernel",
     kV1,
     {{"memory/c/memory.kmem.usage_in_bytes", "9\n"}},
     &U::has_memory_kernel_bytes,
     &U::memory_kernel_bytes,
     9},
    {"v1: inactive files",
     kV1,
     {{"memory/c/memory.stat", "total_inactive_file 6\n"}},
     &U::has_memory_inactive_file_bytes,
     &U::memory_inactive_file_bytes,
     6},
    {"v1: bursts",
     kV1,
     {{"cpu/c/cpu.stat", "nr_bursts 2\nburst_time 3\n"}},
     &U::has_cpu_burst_periods,
     &U::cpu_burst_periods,
     2},
    {"v1: threads without a limit",
     kV1,
     {{"pids/c/pids.max", "max\n"}},
     &U::has_max_threads,
     &U::max_threads,
     0},
};

TEST(CgroupDetails, OfBothVersions) {
  for (const auto& c : kDetails) {
    SCOPED_TRACE(c.name);
    const U usage = Read(c.version, c.contents);
    EXPECT_EQ((usage.*c.has)() ? Got((usage.*c.get)()) : std::nullopt, c.want);
  }
}

/// "252:0 reads/bytes writes/bytes; Read=1 ..." for each device.
std::string DevicesText(const U& usage) {
  std::string text;
  for (const auto& device : usage.devices()) {
    text += fmt::format("{}:{} {} {}/{} {}/{}", device.major(), device.minor(), device.name(),
                        device.reads(), device.read_bytes(), device.writes(), device.write_bytes());
    for (const auto& each : device.operations())
      text += fmt::format(" {}={}", each.name(), each.bytes());
    text += ";";
  }
  return text;
}

TEST(CgroupDevices, OfBothVersions) {
  const struct {
    const char* name;
    cgroup::Version version;
    Contents contents;
    const char* want;
  } kCases[] = {
      {"v2: what is read and written, nothing else",
       kV2,
       {{"c/io.stat", "252:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=5 dios=6\n7:1 rbytes=3\n"}},
       "252:0 252:0 1/10 2/20 Read=10 Write=20;7:1 7:1 0/3 0/0 Read=3 Write=0;"},
      {"v1: what is below counts too",
       kV1,
       {{"blkio/c/blkio.throttle.io_service_bytes", "252:0 Read 1\nTotal 1\n"},
        {"blkio/c/blkio.throttle.io_service_bytes_recursive",
         "252:0 Read 10\n252:0 Write 20\n252:0 Sync 30\n252:0 Async 0\n252:0 Discard 0\n"
         "252:0 Total 30\nTotal 30\n"},
        {"blkio/c/blkio.throttle.io_serviced_recursive", "252:0 Read 1\n252:0 Write 2\nTotal 3\n"}},
       "252:0 252:0 1/10 2/20 Read=10 Write=20 Sync=30 Async=0 Discard=0 Total=30;"},
      {"v1: who schedules the device counts",
       kV1,
       {{"blkio/c/blkio.bfq.io_service_bytes_recursive", "8:0 Write 4\nTotal 4\n"},
        {"blkio/c/blkio.bfq.io_serviced_recursive", "8:0 Write 1\nTotal 1\n"},
        {"blkio/c/blkio.throttle.io_service_bytes_recursive", "8:0 Write 5\nTotal 5\n"}},
       "8:0 8:0 0/0 1/4 Write=4;"},
      {"v1: only of itself, by an old kernel",
       kV1,
       {{"blkio/c/blkio.bfq.io_service_bytes_recursive", "Total 0\n"},
        {"blkio/c/blkio.throttle.io_service_bytes", "8:0 Read 4\nTotal 4\n"},
        {"blkio/c/blkio.throttle.io_serviced", "8:0 Read 1\nTotal 1\n"}},
       "8:0 8:0 1/4 0/0 Read=4;"},
      {"v1: nothing was read or written",
       kV1,
       {{"blkio/c/blkio.throttle.io_service_bytes_recursive", "Total 0\n"},
        {"blkio/c/blkio.throttle.io_service_bytes", "Total 0\n"}},
       ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DevicesText(Read(c.version, c.contents)), c.want);
  }
}

TEST(CgroupProcesses, AreCountedWithThoseBelow) {
  const struct {
    const char* name;
    cgroup::Version version;
    Contents contents;
    std::optional<int64_t> want;
  } kCases[] = {
      {"a pod with two containers",
       kV2,
       {{"c/cgroup.procs", ""}, {"c/one/cgroup.procs", "1\n2\n"}, {"c/two/cgroup.procs", "3\n"}},
       3},
      {"what a container made below its own",
       kV2,
       {{"c/one/cgroup.procs", "1\n"}, {"c/one/hidden/deep/cgroup.procs", "2\n3\n4\n"}},
       4},
      {"version 1", kV1, {{"memory/c/cgroup.procs", "1\n2\n"}}, 2},
      {"nothing runs in it", kV2, {{"c/cgroup.procs", ""}}, 0},
      {"it is not there", kV2, {{"other/cgroup.procs", "1\n"}}, std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    fs::FakeFileSystem files(clock);
    for (const auto& [path, text] : c.contents)
      EXPECT_TRUE(files.Replace(std::string(kTop) + path, text, {}).ok());
    EXPECT_EQ(CountProcesses(files, LayoutOf(c.version), "/c"), c.want);
  }
}

}  // namespace
}  // namespace splitlet::gc
