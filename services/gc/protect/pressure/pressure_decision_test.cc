#include "services/gc/protect/pressure/pressure_decision.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace splitlet::gc {
namespace {

using namespace std::chrono_literals;
using List = std::vector<std::string>;

TEST(Pressure, AConditionStaysFiveMinutesAfterItWasLastMet) {
  FakeClock clock;
  LastMet last_met;
  Remember(last_met, {"nodefs.available", "imagefs.inodesFree"}, clock.Now(), 5min);
  EXPECT_EQ(Conditions(last_met, clock.Now(), 5min), (List{"DiskPressure"}));
  clock.Advance(4min);
  Remember(last_met, {"memory.available"}, clock.Now(), 5min);
  EXPECT_EQ(Conditions(last_met, clock.Now(), 5min), (List{"DiskPressure", "MemoryPressure"}));
  clock.Advance(1min);
  Remember(last_met, {}, clock.Now(), 5min);
  EXPECT_EQ(Conditions(last_met, clock.Now(), 5min), (List{"MemoryPressure"}));
  EXPECT_EQ(DecodeLastMet(EncodeLastMet(last_met), clock.Now().boot), last_met);
  EXPECT_EQ(ConditionOf("allocatableMemory.available"), "MemoryPressure");
  EXPECT_EQ(ConditionOf("containerfs.inodesFree"), "DiskPressure");
}

TEST(Pressure, WhatCannotBeReadHoldsTheConditionsOfItsThresholds) {
  const struct {
    const char* name;
    std::map<std::string, std::string> hard;
    List want;
  } kCases[] = {
      {"derived from that of the node",
       {{"memory.available", "1Gi"}},
       {"allocatableMemory.available"}},
      {"no threshold of memory", {{"nodefs.inodesFree", "10%"}}, {}},
      {"derived from that of nodefs", {{"nodefs.available", "10%"}}, {"containerfs.available"}},
      {"containerfs has none of its own", {{"containerfs.available", "10%"}}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    GcConfig config;
    config.eviction_hard = c.hard;
    Signals signals;
    signals.unread["allocatableMemory.available"] = "no limit";
    signals.unread["containerfs.available"] = "no answer";
    EXPECT_EQ(UnreadThresholds(signals, config), c.want);
  }
}

TEST(Pressure, ConditionsThresholdsAndMemoryFollowFromAnInspection) {
  FakeClock clock;
  const Clock::Time before = clock.Now();
  clock.Advance(30s);
  const Clock::Time now = clock.Now();
  GcConfig config;
  config.pressure_transition = 5min;
  config.eviction_hard = {{"nodefs.available", "10%"}};
  config.eviction_soft = {{"memory.available", "50%"}};
  config.eviction_soft_grace = {{"memory.available", 1min}};
  const PressureSignal full{"nodefs.available", 5, 100}, free{"nodefs.available", 50, 100};
  const PressureSignal little{"memory.available", 40, 100}, much{"memory.available", 90, 100};
  const LastMet disk_before{{"DiskPressure", before}};
  const MetStates soft_before{{"memory.available/soft", {before, false}}};
  const struct {
    const char* name;
    PressureMemory memory;
    Signals signals;
    List conditions, due;
    PressureMemory next;
  } kCases[] = {
      {"enough of everything", {}, {{free, much}, {}}, {}, {}, {}},
      {"a hard threshold is due with its first inspection",
       {},
       {{full, much}, {}},
       {"DiskPressure"},
       {"nodefs.available"},
       {{{"DiskPressure", now}}, {{"nodefs.available", {now, true}}}}},
      {"a soft threshold waits for its grace",
       {},
       {{free, little}, {}},
       {"MemoryPressure"},
       {},
       {{{"MemoryPressure", now}}, {{"memory.available/soft", {now, false}}}}},
      {"its grace counts from the first inspection",
       {{}, soft_before},
       {{free, little}, {}},
       {"MemoryPressure"},
       {},
       {{{"MemoryPressure", now}}, soft_before}},
      {"a condition stays for the transition period",
       {disk_before, {}},
       {{free, much}, {}},
       {"DiskPressure"},
       {},
       {disk_before, {}}},
      {"a signal that cannot be read holds its condition, and is not met",
       {disk_before, {{"nodefs.available", {before, true}}}},
       {{much}, {{"nodefs.available", "no answer"}}},
       {"DiskPressure"},
       {},
       {{{"DiskPressure", now}}, {}}},
      {"it makes no condition", {}, {{much}, {{"nodefs.available", "no answer"}}}, {}, {}, {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const PressureDecision decision = ComputePressure(c.memory, c.signals, config, now);
    EXPECT_EQ(decision.conditions, c.conditions);
    List due;
    for (const auto& threshold : decision.judged.due) due.push_back(threshold.signal);
    EXPECT_EQ(due, c.due);
    EXPECT_EQ(decision.next, c.next);
  }
}

}  // namespace
}  // namespace splitlet::gc
