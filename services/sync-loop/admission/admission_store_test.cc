#include "services/sync-loop/admission/admission_store.h"

#include <gtest/gtest.h>

#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "services/sync-loop/sync_loop_fixture.h"

namespace splitlet::sync_loop {
namespace {

/// Killed between the two writes, the next start would read the first decision, while a reader had
/// acted on the second.
TEST(AdmissionBook, ADecisionIsNotToldWhenOnlyTheOneBeforeItIsOnDisk) {
  FakeClock clock;
  exec::Scheduler scheduler{clock};
  exec::FakeLoop loop{scheduler, scheduler.NewOwner("sync-loop")};
  exec::FakeStrands strands{loop};
  fs::FakeFileSystem files{clock};
  bus::FakeBusNetwork network{clock, 1};
  bus::FakeBus bus{network, "sync-loop", loop};
  auto table = *bus::Own<v1::AdmissionRecord>(bus, "admission");
  FakeLogSink sink;
  const Log log{sink};
  prometheus::Registry registry;
  SyncLoopMetrics metrics{registry, {}};
  std::vector<std::string> published;
  AdmissionStore store(
      {.env = {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
       .files = files,
       .table = table,
       .metrics = metrics},
      "/run/sync-loop/admission", [&](const std::string& key) {
        published.push_back(
            v1::AdmissionRecord::Decision_Name(store.Find(key)->admission.record().decision()));
      });
  const auto decide = [&store](v1::AdmissionRecord::Decision decision) {
    v1::SavedAdmission admission;
    admission.mutable_record()->set_incarnation(1);
    admission.mutable_record()->set_decision(decision);
    store.Decide("web", {.admission = std::move(admission)});
  };
  int writes = 0;
  files.SetHook([&writes](std::string_view operation, const std::string&) {
    if (operation != "replace") return OkStatus();
    return ++writes == 1 ? OkStatus() : Unavailable("the disk is full");
  });
  loop.Post([&] {
    decide(v1::AdmissionRecord::WAITING);
    decide(v1::AdmissionRecord::ADMITTED);
  });
  scheduler.Advance(10s);
  EXPECT_GT(writes, 1);
  EXPECT_TRUE(published.empty());
  EXPECT_EQ(table.Get("web"), nullptr);
  files.SetHook(nullptr);
  scheduler.Advance(1min);
  EXPECT_EQ(published, std::vector<std::string>{"ADMITTED"});
}

TEST(SyncLoop, RootPutsAnAdmissionAsideThatNobodyCanRead) {
  Node node;
  node.PutNode();
  ASSERT_TRUE(node.files.Replace("/run/sync-loop/admission/wanted", "garbage", {}).ok());
  node.StartLoop();
  node.Put({.uid = "wanted"});
  node.Advance(10s);
  EXPECT_EQ(node.Calls(), std::vector<std::string>{});
  ASSERT_EQ(node.service->Notes().size(), 1u);
  EXPECT_NE(node.service->Notes()[0].find("record discard wanted"), std::string::npos);
  const auto discard = [&node](const std::string& uid) {
    auto answer = std::make_shared<StatusOr<std::vector<std::string>>>(Unavailable("none"));
    node.owners.Post([&node, uid, answer] {
      node.service->DiscardRecord(uid, [answer](auto paths) { *answer = std::move(paths); });
    });
    node.Settle();
    return *answer;
  };
  EXPECT_EQ(discard("other").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(discard("wanted").value(),
            std::vector<std::string>{"/run/sync-loop/admission-discarded/wanted"});
  node.Advance(10s);
  EXPECT_TRUE(node.service->Notes().empty());
  EXPECT_EQ(node.Calls(), std::vector<std::string>{"CREATE wanted 1/1"});
}

}  // namespace
}  // namespace splitlet::sync_loop
