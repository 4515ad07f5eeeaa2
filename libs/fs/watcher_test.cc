#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/inotify_watcher.h"
#include "libs/fs/real_file_system.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

using harness::TempDir;

TEST(FakeFileWatcher, TellsOfChangesUnlessMuted) {
  FakeClock clock;
  FakeFileSystem files(clock);
  int changes = 0;
  FakeFileWatcher watcher(files);
  std::vector<Status> lost;
  Hint last;
  const FileWatcher::Callbacks callbacks{[&](const Hint& hint) {
                                           ++changes;
                                           last = hint;
                                         },
                                         [&](const Status& why) { lost.push_back(why); }};
  EXPECT_TRUE(watcher.Start("/manifests", callbacks).ok());
  EXPECT_TRUE(files.Replace("/manifests/web.yaml", "x", {}).ok());
  EXPECT_TRUE(files.Replace("/elsewhere", "x", {}).ok());
  EXPECT_EQ(changes, 1);
  EXPECT_EQ(last.names(), std::set<std::string>{"web.yaml"});
  watcher.Mute(true);
  EXPECT_TRUE(files.Remove("/manifests/web.yaml").ok());
  EXPECT_EQ(changes, 1);
  watcher.Mute(false);
  watcher.Lose(ResourceExhausted("no watches left"));
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_TRUE(files.Replace("/manifests/web.yaml", "x", {}).ok());
  EXPECT_EQ(changes, 1);
  watcher.FailStart(lost[0]);
  EXPECT_EQ(watcher.Start("/manifests", callbacks), lost[0]);
  watcher.FailStart(OkStatus());
  EXPECT_TRUE(watcher.Start("/manifests", callbacks).ok());
  EXPECT_TRUE(files.Remove("/manifests/web.yaml").ok());
  EXPECT_EQ(changes, 2);
}

TEST(Hint, OfTooManyNamesIsOneOfAnything) {
  Hint hint;
  EXPECT_TRUE(hint.empty());
  for (size_t i = 0; i < Hint::kMostNames; ++i) hint.Add(std::to_string(i));
  EXPECT_FALSE(hint.anything());
  EXPECT_EQ(hint.names().size(), Hint::kMostNames);
  Hint both;
  both.Add("one more");
  both.Add(hint);
  EXPECT_TRUE(both.anything());
  EXPECT_TRUE(both.names().empty());
  both.Add("and another");
  EXPECT_TRUE(both.names().empty());
}

/// Counts changes; tests wait for one more than before, or for the loss of the watch.
class Changes {
 public:
  FileWatcher::Callbacks Callbacks() {
    return {[this](const Hint& hint) {
              const std::lock_guard lock(mutex_);
              ++count_;
              told_.Add(hint);
              changed_.notify_all();
            },
            [this](const Status& why) {
              const std::lock_guard lock(mutex_);
              lost_ = why;
              changed_.notify_all();
            }};
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// OK if the watch is not lost in time.
  Status Lost() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds{10}, [&] { return !lost_.ok(); });
    return lost_;
  }
  /// Waits until the watcher reports a change of this entry, or of anything; forgets the report.
  bool OfName(const std::string& name) {
    std::unique_lock lock(mutex_);
    const bool told = changed_.wait_for(lock, std::chrono::seconds{10}, [&] {
      return told_.anything() || told_.names().contains(name);
    });
    anything_ = anything_ || told_.anything();
    told_ = {};
    return told;
  }
  /// True if the watcher reported a change without a name.
  bool anything() {
    const std::lock_guard lock(mutex_);
    return anything_ || told_.anything();
  }
  bool MoreThan(int before) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{10}, [&] { return count_ > before; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  Hint told_;
  bool anything_ = false;
  Status lost_;
};

/// The real watcher, for a folder whose parent is missing too; each test starts it.
class InotifyWatcher : public testing::Test {
 protected:
  Status Start(const std::string& path) { return watcher_->Start(path, changes_.Callbacks()); }
  /// True if the watcher reports a change after `act`.
  bool Tells(const std::function<Status()>& act) {
    const int before = changes_.count();
    const Status done = act();
    EXPECT_TRUE(done.ok()) << done;
    return changes_.MoreThan(before);
  }
  bool TellsOfFile(const std::string& path) {
    return Tells([&] { return files_.Replace(path, "1", {}); });
  }

  TempDir dir_;
  RealFileSystem files_;
  const std::string parent_ = dir_.path() + "/etc";
  const std::string path_ = parent_ + "/manifests";
  Changes changes_;
  const std::unique_ptr<FileWatcher> watcher_ = MakeInotifyWatcher();
};

TEST_F(InotifyWatcher, FollowsAPathThatComesGoesAndIsReplaced) {
  ASSERT_TRUE(Start(path_).ok());
  const struct {
    const char* name;
    std::function<Status()> act;
  } kSteps[] = {
      {"the directory appears with its parent", [&] { return files_.MakeDirs(path_, 0750); }},
      {"a file appears", [&] { return files_.Replace(path_ + "/a.yaml", "1", {}); }},
      {"a file is replaced", [&] { return files_.Replace(path_ + "/a.yaml", "2", {}); }},
      {"the directory is moved away", [&] { return files_.Rename(path_, path_ + ".old"); }},
      {"another one takes its place", [&] { return files_.MakeDirs(path_, 0750); }},
      {"the new one is watched", [&] { return files_.Replace(path_ + "/b.yaml", "1", {}); }},
      {"a file goes", [&] { return files_.Remove(path_ + "/b.yaml"); }},
      {"the directory goes", [&] { return files_.RemoveTree(path_); }},
      {"the parent goes", [&] { return files_.RemoveTree(parent_); }},
      {"all comes back", [&] { return files_.Replace(path_ + "/c.yaml", "1", {}); }},
      {"and is watched again", [&] { return files_.Replace(path_ + "/c.yaml", "2", {}); }},
  };
  for (const auto& step : kSteps) {
    SCOPED_TRACE(step.name);
    EXPECT_TRUE(Tells(step.act));
  }
}

TEST_F(InotifyWatcher, NamesTheEntriesThatChanged) {
  ASSERT_TRUE(files_.MakeDirs(path_, 0750).ok());
  ASSERT_TRUE(Start(path_).ok());
  ASSERT_TRUE(files_.Replace(path_ + "/a.yaml", "1", {}).ok());
  EXPECT_TRUE(changes_.OfName("a.yaml"));
  ASSERT_TRUE(files_.Rename(path_ + "/a.yaml", path_ + "/b.yaml").ok());
  EXPECT_TRUE(changes_.OfName("b.yaml"));
  ASSERT_TRUE(files_.Remove(path_ + "/b.yaml").ok());
  EXPECT_TRUE(changes_.OfName("b.yaml"));
  EXPECT_FALSE(changes_.anything());
  ASSERT_TRUE(files_.Rename(path_, path_ + ".old").ok());
  EXPECT_TRUE(changes_.OfName("none of them"));
  EXPECT_TRUE(changes_.anything()) << "what the folder holds now is another's";
}

TEST_F(InotifyWatcher, WatchesASingleFileThroughItsFolder) {
  const std::string file = dir_.path() + "/pod.yaml";
  ASSERT_TRUE(files_.Replace(file, "1", {}).ok());
  ASSERT_TRUE(Start(file).ok());
  EXPECT_TRUE(TellsOfFile(file));
}

TEST_F(InotifyWatcher, WatchesStillWhenItsFolderCameAndWentQuickly) {
  ASSERT_TRUE(Start(path_).ok());
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(files_.MakeDirs(path_, 0750).ok());
      ASSERT_TRUE(files_.RemoveTree(parent_).ok());
    }
    // Tries several times, because reports about the folder itself may come late.
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(TellsOfFile(path_ + "/a.yaml")) << "round " << round;
  }
}

TEST_F(InotifyWatcher, SaysThatItsWatchIsLostAndWatchesWhenStartedAgain) {
  ASSERT_TRUE(files_.MakeDirs(path_, 0750).ok());
  ASSERT_TRUE(Start(path_).ok());
  ASSERT_TRUE(files_.RemoveTree(parent_).ok());
  // A file in place of the directory cannot be watched as a directory.
  ASSERT_TRUE(files_.Replace(parent_, "x", {}).ok());
  const Status lost = changes_.Lost();
  ASSERT_FALSE(lost.ok());
  EXPECT_TRUE(Message(lost).starts_with("watch " + path_)) << lost;
  EXPECT_FALSE(Start(path_).ok());
  ASSERT_TRUE(files_.Remove(parent_).ok());
  ASSERT_TRUE(Start(path_).ok());
  EXPECT_TRUE(TellsOfFile(path_ + "/a.yaml"));
}

}  // namespace
}  // namespace splitlet::fs
