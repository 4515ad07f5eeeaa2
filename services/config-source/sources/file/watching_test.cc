#include "services/config-source/config_source_fixture.h"
#include "services/config-source/sources/file/file_source.h"

/// How the file source follows changes: hints without pause, and a watch that is lost.

namespace splitlet::config_source {
namespace {

class Watching : public testing::Test, public TestNode {
 protected:
  /// Counts from now on how often the directory is listed, and each file opened.
  void CountReads() {
    listed = 0;
    opened.clear();
    files.SetHook([this](std::string_view operation, const std::string& path) {
      if (operation == "list" && path == "/m") ++listed;
      if (operation == "read" && path.starts_with("/m/")) ++opened[path];
      return OkStatus();
    });
  }
  double Watched() {
    for (const auto& family : process->registry.Collect())
      if (family.name == "splitlet_config_source_watched") return family.metric.at(0).gauge.value;
    return -1;
  }
  size_t Warnings() {
    return LogLines("cannot watch manifests, only the periodic read finds changes").size();
  }
  int listed = 0;
  std::map<std::string, int> opened;
};

TEST_F(Watching, AManifestThatIsWrittenWithoutPauseIsLookedAtTenTimesASecond) {
  StartWithWeb(Manifest("web", "nginx:1", "fixed"));
  RunFor(5s);
  CountReads();
  for (int i = 0; i < 1000; ++i) {
    Write("/m/web.yaml", Manifest("web", "nginx:" + std::to_string(i), "fixed"));
    if (i == 500) Write("/m/other.yaml", Manifest("other"));
    RunFor(10ms);
    if (i != 511) continue;
    EXPECT_EQ(Show(), "other web") << "others wait no longer than that";
  }
  EXPECT_GE(opened["/m/web.yaml"], 80);
  EXPECT_LE(opened["/m/web.yaml"], 120) << "in ten seconds";
  RunFor(1s);
  EXPECT_EQ(PodOf("web").spec().containers(0).image(), "nginx:999") << "the last one counts";
}

TEST_F(Watching, AChangeOpensWhatChangedAndThePeriodicLookOpensAll) {
  for (int i = 0; i < 50; ++i)
    Write(fmt::format("/m/p{}.yaml", i), Manifest(fmt::format("p{}", i)));
  StartAndRead();
  CountReads();
  Write("/m/p7.yaml", Manifest("p7", "nginx:2"));
  RunFor(100ms);
  EXPECT_EQ(opened, (std::map<std::string, int>{{"/m/p7.yaml", 1}}));
  EXPECT_EQ(PodOf("p7").spec().containers(0).image(), "nginx:2");
  Write("/m/p8.yaml", Manifest("p8", "nginx:2"));
  Delete("/m/p9.yaml");
  ASSERT_TRUE(files.Rename("/m/p10.yaml", "/m/q.yaml").ok());
  RunFor(100ms);
  EXPECT_EQ(opened,
            (std::map<std::string, int>{{"/m/p7.yaml", 1}, {"/m/p8.yaml", 1}, {"/m/q.yaml", 1}}));
  EXPECT_TRUE(Find("p9")->state() == v1::DesiredRecord::REMOVED);
  EXPECT_EQ(Find("p10")->origin(), "/m/q.yaml");
  EXPECT_EQ(listed, 0);
  RunFor(30s);
  EXPECT_EQ(opened.size(), 49u);
}

TEST_F(Watching, HintsDoNotPutOffThePeriodicLook) {
  StartWithWeb();
  Write("/m/other.yaml", Manifest("other"));
  RunFor(1s);
  CountReads();
  for (int i = 0; i < 120; ++i) {
    Write("/m/other.yaml", Manifest("other", "nginx:" + std::to_string(i)));
    RunFor(500ms);
  }
  EXPECT_GE(opened["/m/web.yaml"], 2) << "in a minute";
  EXPECT_LE(opened["/m/web.yaml"], 4);
}

TEST_F(Watching, WhereManifestsAreLinksAnyChangeMayBeOfAnyOfThem) {
  ASSERT_TRUE(files.MakeDirs("/m/..1", 0755).ok());
  ASSERT_TRUE(files.MakeDirs("/m/..2", 0755).ok());
  Write("/m/..1/web.yaml", Manifest("web", "nginx:1", "fixed"));
  Write("/m/..2/web.yaml", Manifest("web", "nginx:2", "fixed"));
  StartAndRead();
  ASSERT_TRUE(files.MakeSymlink("..1", "/m/..data").ok());
  ASSERT_TRUE(files.MakeSymlink("..data/web.yaml", "/m/web.yaml").ok());
  RunFor(1s);
  ASSERT_EQ(PodOf("web").spec().containers(0).image(), "nginx:1");
  ASSERT_TRUE(files.MakeSymlink("..2", "/m/..data.new").ok());
  ASSERT_TRUE(files.Remove("/m/..data").ok());
  ASSERT_TRUE(files.Rename("/m/..data.new", "/m/..data").ok());
  RunFor(1s);
  EXPECT_EQ(PodOf("web").spec().containers(0).image(), "nginx:2");
}

TEST_F(Watching, MoreChangesThanAreNamedAreAllFound) {
  StartAndRead();
  std::string names;
  for (int i = 100; i < 300; ++i) {
    Write(fmt::format("/m/p{}.yaml", i), Manifest(fmt::format("p{}", i)));
    names += fmt::format("{}p{}", names.empty() ? "" : " ", i);
  }
  RunFor(100ms);
  EXPECT_EQ(Show(), names);
}

TEST_F(Watching, ABurstOfChangesIsFollowedAtOnceAndSoIsAnyOneAfterAPause) {
  StartAndRead();
  RunFor(5s);
  CountReads();
  for (int i = 0; i < 5; ++i) {
    Write(fmt::format("/m/p{}.yaml", i), Manifest(fmt::format("p{}", i)));
    RunFor(20ms);
  }
  EXPECT_EQ(opened.size(), 5u);
  EXPECT_EQ(Show(), "p0 p1 p2 p3 p4");
  for (int i = 0; i < 100; ++i) {
    Write("/m/p0.yaml", Manifest("p0", "nginx:" + std::to_string(i), "fixed"));
    RunFor(10ms);
  }
  RunFor(300ms);
  Write("/m/late.yaml", Manifest("late"));
  RunFor(10ms);
  EXPECT_NE(Find("late"), nullptr);
}

TEST_F(Watching, AManifestWrittenInPiecesIsReadWhenItIsWhole) {
  StartAndRead();
  const std::string whole = Manifest("web");
  for (size_t size = 10; size < whole.size(); size += 10) {
    Write("/m/web.yaml", whole.substr(0, size));
    RunFor(5ms);
  }
  Write("/m/web.yaml", whole);
  RunFor(300ms);
  EXPECT_EQ(Show(), "web");
}

TEST_F(Watching, AWatchThatIsLostIsToldAndSetAgainAndTheLooksGoOn) {
  StartWithWeb();
  EXPECT_EQ(Watched(), 1);
  process->watcher->FailStart(ResourceExhausted("no space left on device"));
  process->watcher->Lose(ResourceExhausted("no space left on device"));
  RunFor(1ms);
  EXPECT_EQ(Watched(), 0);
  EXPECT_EQ(Warnings(), 1u);
  EXPECT_TRUE(process->service->GetHealth().ready) << "pods come and go still";
  Write("/m/late.yaml", Manifest("late"));
  RunFor(1s);
  EXPECT_EQ(Find("late"), nullptr);
  RunFor(20s);
  EXPECT_NE(Find("late"), nullptr) << "the periodic read";
  const int before = process->watcher->starts();
  RunFor(200s);
  EXPECT_GE(process->watcher->starts(), before + 9);
  EXPECT_LE(process->watcher->starts(), before + 11) << "every twenty seconds";
  EXPECT_EQ(Warnings(), 1u) << "once, as long as the reason is the same";
  process->watcher->FailStart(OkStatus());
  RunFor(21s);
  EXPECT_EQ(Watched(), 1);
  EXPECT_EQ(LogLines("manifests are watched again").size(), 1u);
  Write("/m/third.yaml", Manifest("third"));
  RunFor(10ms);
  EXPECT_NE(Find("third"), nullptr);
}

TEST_F(Watching, WhatChangedWithoutAWatchIsFoundWhenItIsSetAgain) {
  StartWithWeb();
  process->watcher->Lose(ResourceExhausted("no space left on device"));
  Write("/m/late.yaml", Manifest("late"));
  RunFor(1100ms);
  EXPECT_EQ(Watched(), 1);
  EXPECT_NE(Find("late"), nullptr);
}

/// Says from where it was started; a watcher asks the file system, which may hang.
class NotingWatcher final : public fs::FileWatcher {
 public:
  NotingWatcher(const exec::EventLoop& loop, int& on_loop, int& elsewhere)
      : loop_(loop), on_loop_(on_loop), elsewhere_(elsewhere) {}
  Status Start(const std::string&, Callbacks callbacks) override {
    ++(loop_.IsCurrent() ? on_loop_ : elsewhere_);
    callbacks_ = std::move(callbacks);
    if (elsewhere_ == 1) callbacks_.on_lost(ResourceExhausted("no space left on device"));
    return OkStatus();
  }

 private:
  const exec::EventLoop& loop_;
  int& on_loop_;
  int& elsewhere_;
  Callbacks callbacks_;
};

TEST(FileSource, TheLoopNeverAsksTheFileSystemForAWatch) {
  FakeClock clock;
  exec::FakeLoop loop(clock);
  exec::FakeStrands strands(loop);
  fs::FakeFileSystem files(clock);
  FakeLogSink sink;
  const Log log{sink};
  prometheus::Registry registry;
  int on_loop = 0, elsewhere = 0;
  FileSource source(
      {.env = {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
       .files = files,
       .watcher = std::make_unique<NotingWatcher>(loop, on_loop, elsewhere),
       .decode = nullptr,
       .on_read_time = [](Duration) {},
       .on_watched = [](bool) {}},
      {.path = "/m", .node_name = "node-1", .period = 20s});
  source.Start({}, [](const SourceSet&) {});
  loop.Advance(30s);
  EXPECT_EQ(elsewhere, 2) << "at the start, and after it was lost";
  EXPECT_EQ(on_loop, 0);
}

}  // namespace
}  // namespace splitlet::config_source
