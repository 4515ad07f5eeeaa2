#include "kubelet/child_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Table : public ::testing::Test {
 protected:
  FakeClock clock;
  ChildTable table{clock, {{"bus", false}, {"pleg", true}}, 30s};
};

TEST_F(Table, AllAreStartedAtOnceAndReadyWhenTheySaySo) {
  EXPECT_THAT(table.Due(), ElementsAre("bus", "pleg"));
  table.OnStarted("bus", 10);
  table.OnStarted("pleg", 11);
  EXPECT_THAT(table.Due(), IsEmpty());
  EXPECT_FALSE(table.AllReady());
  table.OnMessage(99, "READY=1");
  table.OnMessage(11, "STATUS=READY=1");
  EXPECT_FALSE(table.AllReady());
  table.OnMessage(11, "STATUS=x\nREADY=1\n");
  EXPECT_TRUE(table.AllReady());
  EXPECT_THAT(table.Running(), ElementsAre(10, 11));
}

TEST_F(Table, WhatDiesIsStartedAgainMoreAndMoreSlowly) {
  table.OnStarted("bus", 10);
  pid_t pid = 11;
  for (const Duration want : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms}) {
    table.OnStarted("pleg", pid);
    Duration again{0};
    EXPECT_EQ(table.OnEnded(pid, &again), "pleg");
    EXPECT_EQ(again, want);
    EXPECT_THAT(table.Due(), IsEmpty());
    EXPECT_EQ(table.NextDue(), clock.Now() + want);
    clock.Advance(want);
    EXPECT_THAT(table.Due(), ElementsAre("pleg"));
    ++pid;
  }
  table.OnStarted("pleg", pid);
  clock.Advance(1min);  // the program runs
  Duration again{0};
  table.OnEnded(pid, &again);
  EXPECT_EQ(again, 100ms);
  EXPECT_EQ(table.OnEnded(pid, &again), "");  // no program of this table any more
}

TEST_F(Table, OneThatFallsSilentIsShown) {
  table.OnStarted("bus", 10);
  table.OnStarted("pleg", 11);
  clock.Advance(10min);
  EXPECT_THAT(table.Silent(), IsEmpty());  // not ready yet, so no watchdog
  table.OnMessage(11, "READY=1");
  clock.Advance(20s);
  table.OnMessage(11, "WATCHDOG=1");
  clock.Advance(29s);
  EXPECT_THAT(table.Silent(), IsEmpty());
  EXPECT_EQ(table.NextDue(), clock.Now() + 1s);
  clock.Advance(1s);
  EXPECT_THAT(table.Silent(), ElementsAre(11));
}

}  // namespace
}  // namespace splitlet::kubelet
