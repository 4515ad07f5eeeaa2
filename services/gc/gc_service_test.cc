#include "services/gc/gc_service.h"

#include <gtest/gtest.h>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

TEST(GcService, ADryRunTellsAndTouchesNothing) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.Start();
  node.CompleteViews();
  const Report report = node.Run(/*dry_run=*/true);
  EXPECT_TRUE(report.dry_run);
  EXPECT_EQ(report.items.size(), 4u) << "container, sandbox, logs, directory";
  EXPECT_EQ(node.holds.holds, 0);
  node.ExpectUntouched("u1");
}

TEST(GcService, IsNotReadyBeforeItHasListedTheRuntimeOnce) {
  TestNode node;
  node.runtime.AddFault({.method = "ListPodSandbox", .kind = cri::Fault::Kind::kHang, .times = 1});
  bool ready_before_listing = true;
  node.files.SetHook([&](std::string_view, const std::string&) {
    if (ready_before_listing) ready_before_listing = node.service().GetHealth().ready;
    return OkStatus();
  });
  node.Start();
  EXPECT_FALSE(ready_before_listing);
  node.Run();
  EXPECT_TRUE(node.service().GetHealth().ready);
}

TEST(GcService, ARuntimeThatDoesNotAnswerIsToldWithEachRound) {
  TestNode node;
  node.runtime.SetDown(true);
  node.Start();
  EXPECT_FALSE(node.service().GetHealth().ready);
  node.Run();
  EXPECT_EQ(std::ranges::count(node.events.reasons, "ContainerGCFailed"), 2);
  int logged = 0;
  for (const auto& line : node.sink.lines())
    logged += line.message == "container garbage collection ended early; the next round tries again"
                  ? 1
                  : 0;
  EXPECT_EQ(logged, 1);
  node.runtime.SetDown(false);
  node.Run();
  EXPECT_TRUE(node.service().GetHealth().ready);
}

TEST(GcService, ACrashLoopDoesNotWaitForTheMinute) {
  TestNode node;
  node.Start();
  const int before = static_cast<int>(node.runtime.Calls("ListPodSandbox"));
  v1::RuntimeRecord record;
  for (int i = 0; i < 2; ++i) {
    auto& container = *record.mutable_pod()->add_containers();
    container.set_name("app");
    container.set_state(v1::ContainerRecord::EXITED);
  }
  ASSERT_TRUE(node.pods.Put("u1", record).ok());
  node.all.Advance(11s);
  EXPECT_EQ(static_cast<int>(node.runtime.Calls("ListPodSandbox")), before + 1);
}

TEST(GcService, AfterItsEndNoTimerTouchesIt) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.Start();
  node.CompleteViews();
  node.all.Advance(10s);
  v1::RuntimeRecord record;
  for (int i = 0; i < 2; ++i) {
    auto& container = *record.mutable_pod()->add_containers();
    container.set_name("app");
    container.set_state(v1::ContainerRecord::EXITED);
  }
  ASSERT_TRUE(node.pods.Put("u1", record).ok());
  node.all.RunUntilIdle();
  const size_t calls = node.runtime.Calls("ListPodSandbox");
  node.process->service = nullptr;
  node.all.Advance(10min);
  EXPECT_EQ(node.runtime.Calls("ListPodSandbox"), calls);
}

}  // namespace
}  // namespace splitlet::gc
