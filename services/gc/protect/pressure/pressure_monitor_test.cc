#include "services/gc/protect/pressure/pressure_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

using testing::HasSubstr;

constexpr const char* kUnsaved =
    "cannot save when the thresholds were met, will save again: conditions end at once until then";

void SetDisk(TestNode& node, uint64_t available) {
  node.files.SetUsage("/kubelet", {100, available, 100, 50});
  node.all.Advance(10s);
}

int Conditions(const TestNode& node) { return node.pressure.Find("node")->conditions_size(); }

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

TEST(PressureMonitor, WhatCannotBeSavedIsToldOnceForEachCodeAndCounted) {
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
