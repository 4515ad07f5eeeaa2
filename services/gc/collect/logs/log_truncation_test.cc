#include "services/gc/collect/logs/log_truncation.h"

#include <gtest/gtest.h>

#include <string>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

/// The terminal status cannot be saved, so the pod never finishes and its leftovers would stay.
TEST(LogTruncation, OnAFullDiskLogsOfRemovedPodsAreEmptied) {
  const struct {
    const char* name;
    v1::DesiredRecord::State state;
    v1::ContainerRecord::State container;
    uint64_t available;
    bool emptied;
    bool overdue = false;
  } kCases[] = {
      {"of a removed pod", v1::DesiredRecord::REMOVED, v1::ContainerRecord::EXITED, 0, true},
      {"not while there is room", v1::DesiredRecord::REMOVED, v1::ContainerRecord::EXITED, 2 << 20,
       false},
      {"not of a wanted pod", v1::DesiredRecord::WANTED, v1::ContainerRecord::EXITED, 0, false},
      {"not of one that runs", v1::DesiredRecord::REMOVED, v1::ContainerRecord::RUNNING, 0, false},
      {"of one that was killed, which the runtime could not write", v1::DesiredRecord::REMOVED,
       v1::ContainerRecord::RUNNING, 0, true, true},
      {"not of a wanted pod that ends", v1::DesiredRecord::WANTED, v1::ContainerRecord::RUNNING, 0,
       false, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.MakeEndedPod("u1");
    const std::string log = node.LogDir("u1") + "/app/0.log";
    node.files.SetUsage("/var/log/pods", {100 << 20, c.available, 100, 50});
    v1::DesiredRecord desired;
    desired.set_uid("u1");
    desired.set_name("web");
    desired.set_namespace_("default");
    desired.set_state(c.state);
    ASSERT_TRUE(node.desired.Put("u1", desired).ok());
    v1::WorkerRecord worker;
    worker.set_uid("u1");
    worker.set_state(v1::TERMINATING);
    const Clock::Time now = node.clock.Now();
    worker.mutable_deadline()->set_boot(now.boot);
    worker.mutable_deadline()->set_monotonic_ns((now.monotonic + (c.overdue ? 5s : 60s)).count());
    ASSERT_TRUE(node.workers.Put("u1", worker).ok());
    v1::RuntimeRecord runtime;
    runtime.mutable_pod()->add_containers()->set_state(c.container);
    ASSERT_TRUE(node.pods.Put("u1", runtime).ok());
    node.Start();
    node.CompleteViews();
    node.all.Advance(11s);
    EXPECT_EQ(node.files.Stat(log, false)->size, c.emptied ? 0u : 1u);
    EXPECT_EQ(node.Exists(log + ".2026.gz"), !c.emptied);
    EXPECT_EQ(node.runtime.Containers().size(), 1u);
  }
}

/// A removed pod that ends, on a full disk.
void EndPodOnAFullDisk(TestNode& node) {
  node.MakeEndedPod("u1");
  node.files.SetUsage("/var/log/pods", {100 << 20, 0, 100, 50});
  v1::DesiredRecord desired;
  desired.set_uid("u1");
  desired.set_name("web");
  desired.set_namespace_("default");
  desired.set_state(v1::DesiredRecord::REMOVED);
  ASSERT_TRUE(node.desired.Put("u1", desired).ok());
  v1::WorkerRecord worker;
  worker.set_uid("u1");
  worker.set_state(v1::TERMINATING);
  ASSERT_TRUE(node.workers.Put("u1", worker).ok());
}

/// A pod that pleg has not listed yet may run.
TEST(LogTruncation, OnAFullDiskLogsAreEmptiedOnlyOfPodsKnownNotToRun) {
  const struct {
    const char* name;
    bool listed;
    bool emptied;
  } kCases[] = {{"pleg has listed all, and shows nothing of it", true, true},
                {"pleg has not listed all yet", false, false}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    ASSERT_NO_FATAL_FAILURE(EndPodOnAFullDisk(node));
    if (c.listed) {
      bus::Completeness complete;
      complete.scopes.insert(std::string(bus::kAll));
      node.pods.SetComplete(complete);
    }
    node.Start();
    node.CompleteViews();
    node.all.Advance(11s);
    EXPECT_EQ(node.files.Stat(node.LogDir("u1") + "/app/0.log", false)->size, c.emptied ? 0u : 1u);
  }
}

/// A removed pod, of which pleg shows nothing that runs, on a full disk.
void FillWithLogs(TestNode& node) {
  ASSERT_NO_FATAL_FAILURE(EndPodOnAFullDisk(node));
  ASSERT_TRUE(node.pods.Put("u1", {}).ok());
}

TEST(LogTruncation, KilledWhereALogIsEmptiedTheNextStartEmptiesTheRest) {
  for (const char* point : {"gc.empty-log.before", "gc.empty-log.after"}) {
    SCOPED_TRACE(point);
    TestNode node;
    FillWithLogs(node);
    node.DieAt(point, [&] {
      node.Start();
      node.CompleteViews();
      node.all.Advance(11s);
    });
    node.Start();
    node.CompleteViews();
    node.all.Advance(11s);
    for (const char* log : {"/app/0.log", "/app/1.log"})
      EXPECT_EQ(node.files.Stat(node.LogDir("u1") + log, false)->size, 0u) << log;
    EXPECT_FALSE(node.Exists(node.LogDir("u1") + "/app/0.log.2026.gz"));
  }
}

TEST(LogTruncation, DirectoriesThatCannotBeListedAreLoggedAndTriedAgain) {
  for (const std::string dir : {"", "/app"}) {
    SCOPED_TRACE(dir);
    TestNode node;
    FillWithLogs(node);
    node.files.Fail(node.LogDir("u1") + dir, PermissionDenied("no"));
    node.Start();
    node.CompleteViews();
    node.all.Advance(11s);
    EXPECT_GE(node.Logged("cannot remove garbage; the next round tries again"), 1);
    EXPECT_NE(node.Metrics().find("splitlet_gc_errors_total{kind=\"log\"}"), std::string::npos);
    node.files.Fail(node.LogDir("u1") + dir, OkStatus());
    node.all.Advance(11s);
    EXPECT_EQ(node.files.Stat(node.LogDir("u1") + "/app/0.log", false)->size, 0u);
  }
}

}  // namespace
}  // namespace splitlet::gc
