#include "services/status/events/event_file.h"

#include "services/status/events/event_store.h"
#include "services/status/status_fixture.h"

/// Events that are known after a start.

namespace splitlet::status {
namespace {

v1::EventRecord PodEventOf(const std::string& reason, const std::string& uid = "u1") {
  v1::EventRecord event;
  event.set_kind("Pod");
  event.set_uid(uid);
  event.set_reason(reason);
  event.set_message(reason + " it");
  return event;
}

class EventFiles : public testing::Test {
 protected:
  /// A start of the process.
  struct Start {
    explicit Start(EventFiles& test)
        : owner(test.all.NewOwner("status")),
          loop(test.all, owner),
          strands(loop),
          store(test.clock),
          file({.env = {.clock = test.clock,
                        .loop = loop,
                        .strands = strands,
                        .log = test.log,
                        .metrics = test.registry},
                .files = test.files,
                .directory = "/run/status/events",
                .list = [this] { return store.List(""); },
                .on_read = [this](auto events) { store.Restore(std::move(events)); }}) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    EventStore store;
    EventFile file;
  };
  EventFiles() {
    files.SetHook([this](std::string_view operation, const std::string& path) {
      if (operation == "replace" && path == "/run/status/events/all") ++writes;
      return OkStatus();
    });
  }
  /// SIGKILL, and the next start.
  void Replace() {
    if (now != nullptr) all.Drop(now->owner);
    now = std::make_unique<Start>(*this);
  }
  void Begin() {
    Replace();
    now->loop.Post([this] { now->file.Start(); });
    all.RunUntilIdle();
  }
  void Record(const v1::EventRecord& event) {
    now->loop.Post([this, event] {
      now->store.Record(event);
      now->file.OnRecorded();
    });
    all.RunUntilIdle();
  }
  /// "Killing x2, Pulled x1", the oldest first.
  std::string Show() const {
    std::vector<std::string> parts;
    for (const auto& event : now->store.List(""))
      parts.push_back(fmt::format("{} x{}", event.reason(), event.count()));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  fs::FakeFileSystem files{clock};
  FakeLogSink sink;
  Log log{sink};
  prometheus::Registry registry;
  int writes = 0;
  std::unique_ptr<Start> now;
};

TEST_F(EventFiles, TheNextStartShowsThemAndCountsOn) {
  Begin();
  Record(PodEventOf("Killing"));
  const int64_t first = now->store.List("").at(0).first_wall_ns();
  all.Advance(1min);
  Record(PodEventOf("Pulled"));
  Begin();
  EXPECT_EQ(Show(), "Killing x1, Pulled x1");
  all.Advance(10s);
  Record(PodEventOf("Killing"));
  EXPECT_EQ(Show(), "Pulled x1, Killing x2");
  EXPECT_EQ(now->store.List("").at(1).first_wall_ns(), first);
  Begin();
  EXPECT_EQ(Show(), "Pulled x1, Killing x2");
  all.Advance(59min + 55s);
  EXPECT_EQ(Show(), "Killing x2") << "they have the age that they had";
}

TEST_F(EventFiles, WhatComesBeforeTheFileIsReadIsNewerThanWhatItHas) {
  Begin();
  Record(PodEventOf("Killing"));
  Record(PodEventOf("Pulled"));
  all.Advance(5s);
  Replace();
  now->loop.Post([this] {
    now->file.Start();
    now->store.Record(PodEventOf("Killing"));
    now->file.OnRecorded();
  });
  all.RunUntilIdle();
  EXPECT_EQ(Show(), "Pulled x1, Killing x2");
  Begin();
  EXPECT_EQ(Show(), "Pulled x1, Killing x2");
}

TEST_F(EventFiles, ManyAreWrittenTogether) {
  Begin();
  for (int i = 0; i < 100; ++i) {
    Record(PodEventOf(fmt::format("Reason{}", i)));
    all.Advance(100ms);
  }
  EXPECT_LE(writes, 6) << "in ten seconds";
  all.Advance(2s);
  const std::string all_of_them = Show();
  Begin();
  EXPECT_EQ(Show(), all_of_them);
}

TEST_F(EventFiles, OfLargeOnesTheNewestAreKept) {
  Begin();
  for (int i = 0; i < 100; ++i) {
    auto event = PodEventOf(fmt::format("Reason{:03}", i));
    for (int k = 0; k < 15; ++k)
      (*event.mutable_annotations())[fmt::format("a{}", k)] = std::string(1000, 'x');
    Record(event);
  }
  all.Advance(2s);
  Begin();
  const auto kept = now->store.List("");
  EXPECT_LT(kept.size(), 70u);
  ASSERT_GT(kept.size(), 60u);
  EXPECT_EQ(kept.back().reason(), "Reason099");
}

TEST_F(EventFiles, AStopWritesWhatWaits) {
  Begin();
  Record(PodEventOf("Killing"));
  Record(PodEventOf("Pulled"));
  EXPECT_EQ(writes, 1);
  now->loop.Post([this] { now->file.BeginStop(); });
  all.RunUntilIdle();
  Begin();
  EXPECT_EQ(Show(), "Killing x1, Pulled x1");
}

TEST_F(EventFiles, AFullDiskIsToldOnceAndTriedAgain) {
  Begin();
  files.Fail("/run/status", ResourceExhausted("no space left on device"));
  Record(PodEventOf("Killing"));
  all.Advance(10s);
  EXPECT_EQ(sink.lines().size(), 1u);
  files.Fail("/run/status", OkStatus());
  all.Advance(2s);
  Begin();
  EXPECT_EQ(Show(), "Killing x1");
}

TEST_F(EventFiles, AnotherBootBeginsWithoutThem) {
  Begin();
  Record(PodEventOf("Killing"));
  clock.SetBoot(clock.Now().boot + 1);
  Begin();
  EXPECT_EQ(Show(), "");
}

TEST_F(EventFiles, AFileThatIsBrokenIsAsGoodAsNone) {
  Begin();
  ASSERT_TRUE(files.Replace("/run/status/events/all", "no record", {}).ok());
  Begin();
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(sink.lines().at(0).message,
            "cannot read events of the last start, starting without them");
  Record(PodEventOf("Killing"));
  Begin();
  EXPECT_EQ(Show(), "Killing x1");
}

TEST_F(StatusServiceTest, EventsOutliveIt) {
  Start();
  Settle();
  process->service->OnEvents({PodEventOf("Killing")});
  Settle();
  Crash();
  Start();
  Settle();
  ASSERT_EQ(process->service->ListEvents("u1").size(), 1u);
  EXPECT_EQ(process->service->ListEvents("u1")[0].reason(), "Killing");
}

}  // namespace
}  // namespace splitlet::status
