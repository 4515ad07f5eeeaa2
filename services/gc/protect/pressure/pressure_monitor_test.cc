#include "services/gc/protect/pressure/pressure_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

using testing::HasSubstr;

constexpr const char* kUnsaved =
    "cannot save when the thresholds were met, will save again: conditions end with their "
    "thresholds until then";

void SetDisk(TestNode& node, uint64_t available) {
  node.files.SetUsage("/kubelet", {100, available, 100, 50});
  node.all.Advance(10s);
}

int Conditions(const TestNode& node) { return node.pressure.Find("node")->conditions_size(); }

TEST(PressureMonitor, PressureIsTableAndConditionAndSurvivesARestart) {
  TestNode node;
  node.Start();
  node.all.Advance(1s);
  ASSERT_TRUE(node.pressure.LiveAndComplete());
  ASSERT_NE(node.pressure.Find("node"), nullptr);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(10s);
  ASSERT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  EXPECT_EQ(node.pressure.Find("node")->conditions(0), "DiskPressure");
  EXPECT_EQ(std::ranges::count(node.events.reasons, "NodeHasDiskPressure"), 0)
      << "status reports conditions";
  node.files.SetUsage("/kubelet", {100, 50, 100, 50});
  node.Crash();
  node.Start();
  node.all.Advance(2min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1)
      << "for five minutes after it was last seen";
  node.all.Advance(4min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
}

/// A signal that cannot be read does not end its condition: that takes an inspection, and five
/// minutes.
TEST(PressureMonitor, AConditionStaysWhileItsSignalCannotBeRead) {
  TestNode node;
  node.config.eviction_hard = {{"imagefs.available", "10%"}};
  node.files.SetUsage("/var/lib/containerd", {1000, 50, 100, 50});
  node.Start();
  node.all.Advance(10s);
  node.files.SetUsage("/var/lib/containerd", {1000, 500, 100, 50});
  node.runtime.SetDown(true);
  node.all.Advance(20min);
  ASSERT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  int logged = 0;
  for (const auto& line : node.sink.lines())
    logged += std::ranges::any_of(line.fields, [](const LogField& field) {
      return field.key == "signal" && field.value == "imagefs.available";
    });
  EXPECT_EQ(logged, 1) << "once, not at each check";
  node.runtime.SetDown(false);
  node.all.Advance(4min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  node.all.Advance(2min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
}

TEST(PressureMonitor, PressureIsUnknownWhileWhatIsRememberedCannotBeRead) {
  TestNode node;
  node.Start();
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(10s);
  node.files.SetUsage("/kubelet", {100, 50, 100, 50});
  node.Crash();
  node.files.SetHook([](std::string_view operation, const std::string& path) {
    const bool fact = operation == "read" && path.starts_with("/run/gc/");
    return fact ? ErrnoStatus(EMFILE) : OkStatus();
  });
  node.Start();
  node.all.Advance(1min);
  EXPECT_FALSE(node.pressure.LiveAndComplete());
  EXPECT_FALSE(node.service().GetHealth().ready);
  node.files.SetHook(nullptr);
  node.all.Advance(1min);
  ASSERT_TRUE(node.pressure.LiveAndComplete());
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1) << "what was remembered counts";
}

TEST(PressureMonitor, KilledWhereItPublishesThePressureTheNextStartPublishesIt) {
  for (const std::string point : {"gc.put-pressure.before", "gc.put-pressure.after",
                                  "gc.complete.before", "gc.complete.after"}) {
    SCOPED_TRACE(point);
    TestNode node;
    node.DieAt(point, [&] {
      node.Start();
      node.all.Advance(20s);
    });
    node.Start();
    node.all.Advance(20s);
    EXPECT_TRUE(node.pressure.LiveAndComplete());
    EXPECT_NE(node.pressure.Find("node"), nullptr);
  }
}

/// The record is put after the files: a condition that a process has seen outlives the next start.
TEST(PressureMonitor, KilledWhereItSavesTheNextStartKnowsWhatIsOnDisk) {
  const struct {
    const char* point;
    int conditions;  // when the node has enough again
  } kCases[] = {{"gc.save-pressure.before", 0}, {"gc.save-pressure.after", 1}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.point);
    TestNode node;
    node.Start();
    node.all.Advance(1s);
    node.DieAt(c.point, [&] { SetDisk(node, 5); });
    ASSERT_EQ(Conditions(node), 0) << "was not put yet";
    node.files.SetUsage("/kubelet", {100, 50, 100, 50});
    node.Start();
    node.all.Advance(10s);
    EXPECT_EQ(Conditions(node), c.conditions);
  }
}

/// A condition that a restart would forget is published only while its threshold is met.
TEST(PressureMonitor, WhatCannotBeSavedIsNotRemembered) {
  TestNode node;
  node.Start();
  node.all.Advance(1s);
  node.files.Fail(node.config.records_dir, ResourceExhausted("no space left on device"));
  SetDisk(node, 5);
  EXPECT_EQ(Conditions(node), 1) << "the node is short of disk all the same";
  SetDisk(node, 50);
  EXPECT_EQ(Conditions(node), 0);
  node.files.Fail(node.config.records_dir, OkStatus());
  SetDisk(node, 5);
  SetDisk(node, 50);
  EXPECT_EQ(Conditions(node), 1) << "stays for the transition period";
  node.Crash();
  node.Start();
  node.all.Advance(10s);
  EXPECT_EQ(Conditions(node), 1);
}

TEST(PressureMonitor, WhatCannotBeSavedIsLoggedOnceForEachCodeAndCounted) {
  TestNode node;
  node.Start();
  node.all.Advance(1s);
  node.files.Fail(node.config.records_dir, ResourceExhausted("no space left on device"));
  for (int i = 0; i < 3; ++i) SetDisk(node, 5);
  EXPECT_EQ(node.Logged(kUnsaved), 1);
  EXPECT_THAT(node.Metrics(), HasSubstr("splitlet_gc_errors_total{kind=\"save-pressure\"} 3"));
  node.files.Fail(node.config.records_dir, PermissionDenied("read-only file system"));
  for (int i = 0; i < 3; ++i) SetDisk(node, 5);
  EXPECT_EQ(node.Logged(kUnsaved), 2);
  node.files.Fail(node.config.records_dir, OkStatus());
  SetDisk(node, 5);
  node.files.Fail(node.config.records_dir, PermissionDenied("read-only file system"));
  SetDisk(node, 5);
  EXPECT_EQ(node.Logged(kUnsaved), 3) << "it worked in between";
}

}  // namespace
}  // namespace splitlet::gc
