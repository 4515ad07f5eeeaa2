#include "libs/plugins/socket_watch.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"

namespace splitlet::plugins {
namespace {

const std::string kWatchedDirectory = "/var/lib/kubelet/plugins_registry";

class SocketWatchTest : public testing::Test {
 protected:
  SocketWatchTest() {
    EXPECT_TRUE(files_.MakeDirs(kWatchedDirectory, 0750).ok());
    files_.SetHook([this](std::string_view operation, const std::string& path) {
      lists_ += operation == "list" && path == kWatchedDirectory;
      return OkStatus();
    });
  }
  std::unique_ptr<fs::FileWatcher> MakeWatcher() {
    auto watcher = std::make_unique<fs::FakeFileWatcher>(files_);
    watcher->FailStart(watch_error_);
    watcher->Mute(muted_);
    watchers_.push_back(watcher.get());
    return watcher;
  }
  void Start() {
    watch_.Start();
    loop_.Advance(100ms);
  }
  size_t Found() const { return watch_.found().sockets.size(); }
  bool Logged(std::string_view message) const {
    for (const auto& line : sink_.lines())
      if (line.message == message) return true;
    return false;
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  FakeLogSink sink_;
  Log log_{sink_};
  prometheus::Registry registry_;
  exec::Env env_{
      .clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = registry_};
  fs::FakeFileSystem files_{clock_};
  Status watch_error_;
  bool muted_ = false;
  std::vector<fs::FakeFileWatcher*> watchers_;  // some are gone
  int lists_ = 0, reports_ = 0;
  SocketWatch watch_{{.env = env_,
                      .files = files_,
                      .make_watcher = [this] { return MakeWatcher(); },
                      .directory = kWatchedDirectory,
                      .on_found = [this](const FoundSockets&) { ++reports_; }}};
};

TEST_F(SocketWatchTest, SocketsFromBeforeTheStartAreFound) {
  files_.MakeSocket(kWatchedDirectory + "/a.sock");
  Start();
  EXPECT_EQ(Found(), 1u);
  EXPECT_EQ(watchers_.size(), 1u);
}

TEST_F(SocketWatchTest, SocketsThatComeAndGoAreNoticed) {
  Start();
  loop_.Advance(1s);
  files_.MakeSocket(kWatchedDirectory + "/a.sock");
  loop_.RunUntilIdle();
  EXPECT_EQ(Found(), 1u);
  ASSERT_TRUE(files_.Remove(kWatchedDirectory + "/a.sock").ok());
  loop_.Advance(1s);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(SocketWatchTest, ManyHintsAreFewInspections) {
  Start();
  loop_.Advance(1s);
  const int before = lists_;
  for (int i = 0; i < 100; ++i) files_.MakeSocket(kWatchedDirectory + "/a.sock");
  loop_.Advance(1s);
  EXPECT_LE(lists_ - before, 3);
  EXPECT_EQ(Found(), 1u);
}

TEST_F(SocketWatchTest, AQuietEmptyDirectoryIsReadOnceAMinute) {
  Start();
  loop_.Advance(1min);
  const int before = lists_;
  loop_.Advance(10min);
  EXPECT_EQ(lists_ - before, 10);
  EXPECT_EQ(sink_.lines().size(), 0u);
}

TEST_F(SocketWatchTest, LostEventsAreMadeUpForByTheResync) {
  muted_ = true;
  Start();
  files_.MakeSocket(kWatchedDirectory + "/a.sock");
  loop_.Advance(1min);
  EXPECT_EQ(Found(), 1u);
}

TEST_F(SocketWatchTest, AFolderGetsAWatcherOfItsOwnAndIsReadAgain) {
  Start();
  ASSERT_TRUE(files_.MakeDirs(kWatchedDirectory + "/csi", 0750).ok());
  loop_.Advance(1s);
  ASSERT_EQ(watchers_.size(), 2u);
  watchers_[0]->Mute(true);  // the real watcher of the directory sees nothing below the folder
  files_.MakeSocket(kWatchedDirectory + "/csi/a.sock");
  loop_.Advance(1s);
  EXPECT_EQ(Found(), 1u);
  ASSERT_TRUE(files_.Remove(kWatchedDirectory + "/csi/a.sock").ok());
  watchers_[0]->Mute(false);
  ASSERT_TRUE(files_.Remove(kWatchedDirectory + "/csi").ok());
  loop_.Advance(1s);
  EXPECT_EQ(Found(), 0u);
  EXPECT_TRUE(watch_.found().folders.empty());
}

TEST_F(SocketWatchTest, WithoutAWatcherTheFolderIsReadAndTheWatcherTriedAgain) {
  watch_error_ = ResourceExhausted("too many open files");
  Start();
  EXPECT_TRUE(Logged("cannot watch the plugin sockets, will read the folder every 10 s"));
  files_.MakeSocket(kWatchedDirectory + "/a.sock");
  loop_.Advance(10s);
  EXPECT_EQ(Found(), 1u);
  loop_.Advance(50s);
  EXPECT_EQ(sink_.lines().size(), 1u) << "the same error is logged once";
  watch_error_ = OkStatus();
  loop_.Advance(10s);
  EXPECT_TRUE(Logged("watching the plugin sockets again"));
  files_.MakeSocket(kWatchedDirectory + "/b.sock");
  loop_.Advance(200ms);
  EXPECT_EQ(Found(), 2u);
}

TEST_F(SocketWatchTest, AWatchThatIsLostIsStartedAgain) {
  Start();
  loop_.Advance(1s);
  watchers_[0]->Lose(ResourceExhausted("no watches left"));
  loop_.Advance(10s);
  EXPECT_EQ(watchers_.size(), 2u);
  files_.MakeSocket(kWatchedDirectory + "/a.sock");
  loop_.Advance(200ms);
  EXPECT_EQ(Found(), 1u);
}

TEST_F(SocketWatchTest, ADirectoryThatCannotBeReadKeepsItsSockets) {
  files_.MakeSocket(kWatchedDirectory + "/a.sock");
  Start();
  files_.SetHook([](std::string_view operation, const std::string&) {
    return operation == "list" ? Unavailable("the disk is away") : OkStatus();
  });
  loop_.Advance(5min);
  EXPECT_EQ(Found(), 1u);
  EXPECT_EQ(sink_.lines().size(), 1u);
}

TEST_F(SocketWatchTest, ARefusedEntryIsLoggedOnce) {
  files_.MakeSocket(kWatchedDirectory + "/" + std::string(100, 'a'));
  Start();
  loop_.Advance(5min);
  ASSERT_EQ(sink_.lines().size(), 1u);
  EXPECT_EQ(sink_.lines()[0].message, "skipping an entry of the plugin registry");
}

}  // namespace
}  // namespace splitlet::plugins
