#include "services/gc/measure/signals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/cri/fake_runtime.h"
#include "libs/fs/fake_file_system.h"
#include "services/gc/measure/fake_tree_meter.h"

namespace splitlet::gc {
namespace {

using namespace std::chrono_literals;
using List = std::vector<std::string>;

TEST(Pressure, OfAllPodsTogetherTheirCgroupTells) {
  const std::string v2 = "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  std::string v1;
  for (const char* controller : {"cpu", "memory", "pids"})
    v1 += fmt::format("1 1 0:1 / /sys/fs/cgroup/{0} rw - cgroup cgroup rw,{0}\n", controller);
  const struct {
    const char* name;
    std::string mounts;
    std::map<std::string, std::string> files;  // below /sys/fs/cgroup
    std::optional<PressureSignal> want;
  } kCases[] = {
      {"the limit less the working set",
       v2,
       {{"kubepods/memory.max", "1000\n"},
        {"kubepods/memory.current", "700\n"},
        {"kubepods/memory.stat", "anon 400\ninactive_file 100\n"}},
       PressureSignal{"allocatableMemory.available", 400, 1000}},
      {"likewise in version 1",
       v1,
       {{"memory/kubepods/memory.limit_in_bytes", "1000\n"},
        {"memory/kubepods/memory.usage_in_bytes", "700\n"},
        {"memory/kubepods/memory.stat", "total_inactive_file 100\n"}},
       PressureSignal{"allocatableMemory.available", 400, 1000}},
      {"of the driver systemd",
       v2,
       {{"kubepods.slice/memory.max", "1000\n"}, {"kubepods.slice/memory.current", "700\n"}},
       PressureSignal{"allocatableMemory.available", 300, 1000}},
      {"the runtime has another driver than before",
       v2,
       {{"kubepods/memory.max", "2000\n"},
        {"kubepods/memory.current", "0\n"},
        {"kubepods.slice/memory.max", "1000\n"},
        {"kubepods.slice/memory.current", "700\n"}},
       PressureSignal{"allocatableMemory.available", 300, 1000}},
      {"more is in use than a limit that was set later",
       v2,
       {{"kubepods/memory.max", "1000\n"}, {"kubepods/memory.current", "1700\n"}},
       PressureSignal{"allocatableMemory.available", 0, 1000}},
      {"there is no limit yet",
       v2,
       {{"kubepods/memory.max", "max\n"}, {"kubepods/memory.current", "700\n"}},
       std::nullopt},
      {"there is no cgroup", v2, {}, std::nullopt},
      {"cgroups are not to be seen", "", {}, std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    fs::FakeFileSystem files(clock);
    EXPECT_TRUE(files.Replace("/proc/self/mountinfo", c.mounts, {}).ok());
    for (const auto& [path, text] : c.files)
      EXPECT_TRUE(files.Replace("/sys/fs/cgroup/" + path, text, {}).ok());
    const auto signal = ReadPodsMemory(files, "/kubepods");
    EXPECT_EQ(signal.ok() ? std::optional(signal->signal) : std::nullopt, c.want);
  }
}

/// Images are on device 2.
const struct Disks {
  const char* name;
  const char* containers;  // empty: the runtime does not report it
  uint64_t device;         // of `containers`
  bool known_before;
  bool runtime_answers;
  List read, unread;
} kDisks[] = {
    {"an older runtime", "", 0, false, true, {"imagefs.available", "imagefs.inodesFree"}, {}},
    {"in one directory",
     "/images",
     2,
     false,
     true,
     {"imagefs.available", "imagefs.inodesFree"},
     {}},
    {"on one disk", "/layers", 2, false, true, {"imagefs.available", "imagefs.inodesFree"}, {}},
    {"on two",
     "/layers",
     3,
     false,
     true,
     {"imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree"},
     {}},
    {"the runtime is away",
     "/layers",
     3,
     false,
     false,
     {},
     {"imagefs.available", "imagefs.inodesFree"}},
    {"it is away, and they were on two",
     "/layers",
     3,
     true,
     false,
     {},
     {"containerfs.available", "containerfs.inodesFree", "imagefs.available",
      "imagefs.inodesFree"}},
};

TEST(Pressure, WhereContainersWriteIsMeasuredWhenItIsApartFromImages) {
  for (const auto& c : kDisks) {
    SCOPED_TRACE(c.name);
    FakeClock clock;
    fs::FakeFileSystem files(clock);
    for (const char* const path : {"/kubelet", "/images", "/layers"})
      EXPECT_TRUE(files.MakeDirs(path, 0755).ok());
    files.SetUsage("/images", {1000, 500, 100, 50});
    files.SetUsage("/layers", {2000, 700, 100, 70});
    cri::FakeRuntime runtime{clock};
    runtime.SetImageFs({.mountpoint = "/images"});
    if (*c.containers != '\0') runtime.SetContainerFs({.mountpoint = c.containers});
    runtime.SetDown(!c.runtime_answers);
    FakeTreeMeter::Disk disk;
    disk.devices = {{"/kubelet", 1}, {"/images", 2}, {"/layers", c.device}};
    FakeTreeMeter meter(disk);
    GcConfig config;
    config.root_dir = "/kubelet";
    const Signals signals = ReadSignals({.files = files,
                                         .images = runtime,
                                         .meter = meter,
                                         .clock = clock,
                                         .split = c.known_before},
                                        config);
    List read, unread;
    for (const auto& signal : signals.read)
      if (!signal.name.starts_with("nodefs.")) read.push_back(signal.name);
    for (const auto& [name, why] : signals.unread)
      if (name.find("fs.") != std::string::npos) unread.push_back(name);
    EXPECT_EQ(read, c.read);
    EXPECT_EQ(unread, c.unread);
    const auto* layers = FindSignal(signals.read, "containerfs.available");
    if (layers != nullptr) {
      EXPECT_EQ(*layers, (PressureSignal{"containerfs.available", 700, 2000}));
    }
  }
}

TEST(Pressure, MemoryAndProcessIdsFromTheKernel) {
  const auto memory = MemorySignal(
      "MemTotal:       1000 kB\nMemFree: 10 kB\nActive(anon): 100 kB\nInactive(anon): 50 "
      "kB\nActive(file): 200 kB\n"
      "Inactive(file): 300 kB\n");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->capacity, 1000 * 1024);
  EXPECT_EQ(memory->available, 650 * 1024);
  EXPECT_FALSE(MemorySignal("").has_value());
  const auto locked =
      MemorySignal("MemTotal: 1000 kB\nActive(anon): 100 kB\nUnevictable: 300 kB\n");
  ASSERT_TRUE(locked.has_value());
  EXPECT_EQ(locked->available, 600 * 1024) << "what is locked in memory is in use";
  const auto pids = PidSignal("0.20 0.18 0.12 1/80 11206\n", "32768\n", "1000\n");
  ASSERT_TRUE(pids.has_value());
  EXPECT_EQ(*pids, (PressureSignal{"pid.available", 920, 1000}));
  EXPECT_FALSE(PidSignal("", "1", "1").has_value());
}

}  // namespace
}  // namespace splitlet::gc
