#include "services/gc/protect/pressure/conditions.h"

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

}  // namespace
}  // namespace splitlet::gc
