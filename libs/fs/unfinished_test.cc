#include "libs/fs/unfinished.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/fail_point.h"
#include "libs/fs/real_file_system.h"
#include "libs/fs/record_store.h"
#include "libs/fs/reserve.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

using harness::TempDir;

/// Imitates a writer killed between write and rename: the temporary file stays.
class Killed : public testing::Test {
 protected:
  explicit Killed(const char* point = "fs.replace.before-rename") {
    FailPoints::SetCurrent(&points_);
    EXPECT_TRUE(points_.Set(point, "return(cancelled,killed)").ok());
  }
  ~Killed() override { FailPoints::SetCurrent(nullptr); }
  void StartAgain() { FailPoints::SetCurrent(nullptr); }
  std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : files.List(folder).value_or(std::vector<DirEntry>()))
      names.push_back(entry.name);
    return names;
  }

  FakeClock clock;
  RealFileSystem files;
  const TempDir dir;

 private:
  FailPoints points_;
};

TEST_F(Killed, AFactThatWasBeingSavedLeavesNothingToTheNextStart) {
  const RecordStore store(files, clock, {.directory = dir / "facts"});
  ASSERT_EQ(store.Save("a", "new", false).code(), StatusCode::kCancelled);
  ASSERT_EQ(Names(dir / "facts"), std::vector<std::string>{".a.new"});
  StartAgain();
  const RecordStore next(files, clock, {.directory = dir / "facts"});
  ASSERT_TRUE(files.MakeDirs(dir / "facts/.folder.new", 0750).ok());
  const auto all = next.ReadAll();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(all->records.empty());
  EXPECT_EQ(Names(dir / "facts"), std::vector<std::string>{".folder.new"}) << "Replace makes none";
}

TEST_F(Killed, AFileThatWasBeingReplacedLeavesItsOldContentAlone) {
  StartAgain();
  ASSERT_TRUE(files.Replace(dir / "key", "old", {}).ok());
  ASSERT_TRUE(files.Replace(dir / "other", "old", {}).ok());
  FailPoints points;
  FailPoints::SetCurrent(&points);
  ASSERT_TRUE(points.Set("fs.replace.before-rename", "return(cancelled,killed)").ok());
  for (const char* name : {"key", "other"}) ASSERT_FALSE(files.Replace(dir / name, "new", {}).ok());
  StartAgain();
  ASSERT_TRUE(RemoveUnfinished(files, dir.path(), "k").ok());
  EXPECT_EQ(Names(dir.path()), (std::vector<std::string>{".other.new", "key", "other"}));
  ASSERT_TRUE(RemoveUnfinished(files, dir.path()).ok());
  EXPECT_EQ(Names(dir.path()), (std::vector<std::string>{"key", "other"}));
  EXPECT_EQ(*files.Read(dir / "key", 10), "old");
  EXPECT_TRUE(RemoveUnfinished(files, dir / "none").ok());
}

class KilledInAllocate : public Killed {
 protected:
  KilledInAllocate() : Killed("fs.allocate.before-rename") {}
};

TEST_F(KilledInAllocate, AReserveHasNoFileThatNobodyCounts) {
  const Reserve reserve(files, dir / "reserve");
  ASSERT_EQ(reserve.Keep().code(), StatusCode::kCancelled);
  ASSERT_EQ(Names(dir / "reserve"), std::vector<std::string>{".00.new"});
  StartAgain();
  ASSERT_TRUE(files.Rename(dir / "reserve/.00.new", dir / "reserve/.99.new").ok());
  ASSERT_TRUE(reserve.Keep().ok());
  EXPECT_EQ(Names(dir / "reserve").size(), Reserve::kFiles);
}

}  // namespace
}  // namespace splitlet::fs
