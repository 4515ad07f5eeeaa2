#include "services/gc/protect/pressure/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/gc/protect/eviction/eviction_fixture.h"
#include "services/gc/protect/pressure/memory_lines.h"

namespace splitlet::gc {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ArmedLines = std::vector<cgroup::MemoryLine>;

constexpr const char* kV1Mounts =
    "1 1 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "2 1 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "3 1 0:3 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
const std::string kMemoryDirectory = "/sys/fs/cgroup/memory";

TEST(MemoryLines, StandWhereAThresholdIsMet) {
  const std::string pods = kMemoryDirectory + "/kubepods";
  const MemoryUse use{{"memory.available", {kMemoryDirectory, 300}},
                      {"allocatableMemory.available", {pods, 200}}};
  const std::vector<PressureSignal> signals{{"memory.available", 600, 1000},
                                            {"allocatableMemory.available", 150, 400},
                                            {"nodefs.available", 5, 10}};
  const struct {
    const char* name;
    std::vector<Threshold> thresholds;
    ArmedLines want;
  } kCases[] = {
      {"a quantity", {{"memory.available", "100", 0s, ""}}, {{kMemoryDirectory, 801}}},
      {"a share of the capacity", {{"memory.available", "20%", 0s, ""}}, {{kMemoryDirectory, 701}}},
      {"exactly as much as is left",
       {{"memory.available", "600", 0s, ""}},
       {{kMemoryDirectory, 301}}},
      {"met already", {{"memory.available", "601", 0s, ""}}, {}},
      {"switched off", {{"memory.available", "0%", 0s, ""}}, {}},
      {"soft ones, too, and those of all pods",
       {{"allocatableMemory.available", "100", 0s, ""}, {"memory.available", "500", 90s, ""}},
       {{pods, 251}, {kMemoryDirectory, 401}}},
      {"none for disks", {{"nodefs.available", "1", 0s, ""}}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(LinesOf(c.thresholds, signals, use), c.want);
  }
}

/// The machine has 1000 MiB, of which 500 are used; the kernel notifies when it is asked to.
class MemoryAlarms : public KernelStats {
 protected:
  MemoryAlarms() {
    node.config.eviction_hard = {{"memory.available", "100Mi"}};
    node.memory_alarm.emplace();
    Write("/proc/self/mountinfo", kV1Mounts);
    SetUse(kMemoryDirectory, 400);
  }
  void SetUse(const std::string& directory, int64_t use_mi) {
    Write(directory + "/memory.usage_in_bytes", fmt::format("{}\n", use_mi * kMebi));
  }
  /// Inspections of the node so far.
  int Inspections() { return node.memory_alarm->set; }
  /// The logged reasons why no notification could be set.
  std::vector<std::string> Warnings() {
    std::vector<std::string> why;
    for (const auto& line : node.sink.lines())
      if (line.message.starts_with("cannot set the kernel's memory notification"))
        why.push_back(line.fields.at(0).value);
    return why;
  }
  void Ring() {
    node.memory_alarm->Ring();
    node.all.RunUntilIdle();
  }
};

TEST_F(MemoryAlarms, APodEndsWithoutWaitingForTheNextLook) {
  Add({.uid = "a"});
  Start();
  EXPECT_THAT(node.memory_alarm->lines,
              ElementsAre(cgroup::MemoryLine{kMemoryDirectory, 800 * kMebi + 1}));
  EXPECT_THAT(Killed(), IsEmpty());
  node.all.Advance(3s);
  SetMemory(50);
  SetUse(kMemoryDirectory, 850);
  EXPECT_THAT(Killed(), IsEmpty());
  Ring();
  EXPECT_THAT(Killed(), ElementsAre("a"));
  EXPECT_THAT(node.memory_alarm->lines, IsEmpty()) << "what is met needs no alarm";
  EXPECT_THAT(Metrics(), HasSubstr("splitlet_gc_memory_alarms_total 1"));
}

TEST_F(MemoryAlarms, TheLineMovesWithWhatCanBeDropped) {
  Start();
  SetUse(kMemoryDirectory, 600);  // 200 of them are inactive file pages
  node.all.Advance(10s);
  EXPECT_THAT(node.memory_alarm->lines,
              ElementsAre(cgroup::MemoryLine{kMemoryDirectory, 1000 * kMebi + 1}));
}

TEST_F(MemoryAlarms, AllPodsTogetherHaveALineOfTheirOwn) {
  node.config.pods_cgroup = "/kubepods";
  const std::string pods = kMemoryDirectory + "/kubepods";
  SetUse(pods, 100);
  Write(pods + "/memory.limit_in_bytes", fmt::format("{}\n", 400 * kMebi));
  Write(pods + "/memory.stat", "total_inactive_file 0\n");
  Start();
  EXPECT_THAT(node.memory_alarm->lines,
              ElementsAre(cgroup::MemoryLine{kMemoryDirectory, 800 * kMebi + 1},
                          cgroup::MemoryLine{pods, 300 * kMebi + 1}));
}

TEST_F(MemoryAlarms, WhatGoesUpAndDownIsLookedAtOnceASecond) {
  Start();
  const int before = Inspections();
  for (int i = 0; i < 30; ++i) {
    Ring();
    node.all.Advance(100ms);
  }
  EXPECT_GE(Inspections() - before, 3);
  EXPECT_LE(Inspections() - before, 5);
}

TEST_F(MemoryAlarms, OneThatRingsDuringALookIsNotLost) {
  Start();
  const int before = Inspections();
  bool rang = false;
  on_call = [&](std::string_view method) {
    if (method == "ImageFsInfo" && !std::exchange(rang, true)) node.memory_alarm->Ring();
  };
  node.all.Advance(10s);
  EXPECT_TRUE(rang);
  EXPECT_EQ(Inspections() - before, 2);
}

TEST_F(MemoryAlarms, WhereTheKernelDoesNotTellThatIsSaidOnce) {
  const struct {
    const char* name;
    const char* mounts;
    Status set;
    const char* want;
  } kCases[] = {
      {"version 2", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", OkStatus(),
       "cgroup v2 has no"},
      {"it may not be asked", kV1Mounts, PermissionDenied("read-only"), "read-only"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Write("/proc/self/mountinfo", c.mounts);
    node.memory_alarm->status = c.set;
    const auto before = Warnings();
    Start();
    node.all.Advance(1min);
    const auto warnings = Warnings();
    ASSERT_EQ(warnings.size(), before.size() + 1);
    EXPECT_THAT(warnings.back(), HasSubstr(c.want));
    node.Crash();
  }
}

TEST_F(MemoryAlarms, NobodyAsksTheKernelWhereTheConfigurationDoesNot) {
  node.memory_alarm.reset();
  Write("/proc/self/mountinfo", "");
  Start();
  node.all.Advance(1min);
  EXPECT_THAT(Warnings(), IsEmpty());
}

}  // namespace
}  // namespace splitlet::gc
