#include "libs/fs/ownership.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libs/base/fail_point.h"
#include "libs/fs/fake_ownership.h"
#include "libs/fs/real_file_system.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

struct Tree {
  std::string dir;
  FileSystem& files;
  Ownership& ownership;
};

/// Two directories, three files, a link to a directory outside and a link to nowhere.
void CheckWalk(const Tree& tree) {
  const std::string v = tree.dir + "/v";
  ASSERT_TRUE(tree.files.MakeDirs(v + "/sub", 0700).ok());
  ASSERT_TRUE(tree.files.MakeDirs(tree.dir + "/outside", 0700).ok());
  ASSERT_TRUE(tree.files.Replace(tree.dir + "/outside/file", "1", {}).ok());
  for (const char* name : {"/a", "/b", "/sub/c"})
    ASSERT_TRUE(tree.files.Replace(v + name, "1", {.mode = 0400}).ok());
  ASSERT_TRUE(tree.files.MakeSymlink("../outside", v + "/out").ok());
  ASSERT_TRUE(tree.files.MakeSymlink("none", v + "/dangling").ok());
  const auto done = tree.ownership.GiveToGroup(v, {.group = ::getegid()});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->entries, 7u);
  EXPECT_EQ(done->failed, 0u) << done->first_failure;
  EXPECT_EQ(tree.ownership.GiveToGroup(tree.dir + "/none", {}).status().code(),
            StatusCode::kNotFound);
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

gid_t GroupOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info.st_gid;
}

TEST(Ownership, Fake) {
  FakeClock clock;
  FakeFileSystem files(clock);
  FakeOwnership ownership(files);
  CheckWalk({"/dir", files, ownership});
  EXPECT_TRUE(ownership.AccessOf("/dir/v/sub/c"));
  EXPECT_FALSE(ownership.AccessOf("/dir/outside/file"));
  ASSERT_TRUE(files.Rename("/dir/v", "/dir/w").ok());
  EXPECT_TRUE(ownership.AccessOf("/dir/w/sub/c"));
}

TEST(Ownership, TheGroupGetsItsBitsAndLinksAreNotFollowed) {
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  CheckWalk({dir.path(), files, ownership});
  EXPECT_EQ(ModeOf(dir.path() + "/v"), 02770u);
  EXPECT_EQ(ModeOf(dir.path() + "/v/sub"), 02770u);
  EXPECT_EQ(ModeOf(dir.path() + "/v/sub/c"), 0660u);
  EXPECT_EQ(ModeOf(dir.path() + "/outside"), 0700u);
  EXPECT_EQ(ModeOf(dir.path() + "/outside/file"), 0600u);
}

TEST(Ownership, OneThatMayOnlyReadKeepsTheRestOfTheMode) {
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  ASSERT_TRUE(files.Replace(dir.path() + "/v/key", "1", {.mode = 0400}).ok());
  ASSERT_TRUE(ownership.GiveToGroup(dir.path() + "/v", {::getegid(), true}).ok());
  EXPECT_EQ(ModeOf(dir.path() + "/v"), 02750u);
  EXPECT_EQ(ModeOf(dir.path() + "/v/key"), 0440u);
}

TEST(Ownership, AnotherGroupAndTheLinkItself) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  CheckWalk({dir.path(), files, ownership});
  // A program that may change its group is not to run as the new one's by accident of the order.
  ASSERT_EQ(::chmod((dir.path() + "/v/a").c_str(), 04755), 0);
  ASSERT_TRUE(ownership.GiveToGroup(dir.path() + "/v", {.group = 2000}).ok());
  EXPECT_EQ(GroupOf(dir.path() + "/v/sub/c"), 2000u);
  EXPECT_EQ(GroupOf(dir.path() + "/v/out"), 2000u);
  EXPECT_EQ(GroupOf(dir.path() + "/outside/file"), ::getegid());
  EXPECT_EQ(ModeOf(dir.path() + "/v/a"), 04775u);
}

/// Killed on the way, the tree does not look as if it had been given.
TEST(Ownership, TheTopIsGivenLast) {
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  const std::string v = dir.path() + "/v";
  ASSERT_TRUE(files.MakeDirs(v + "/a/b", 0700).ok());
  FailPoints points({[] {}, [](int64_t) {}});
  FailPoints::SetCurrent(&points);
  ASSERT_TRUE(points.Set("fs.give-to-group.top", "1*return(aborted)->off").ok());
  EXPECT_FALSE(ownership.GiveToGroup(v, {.group = ::getegid()}).ok());
  EXPECT_EQ(ModeOf(v), 0700u);
  EXPECT_EQ(ModeOf(v + "/a/b"), 02770u);
  EXPECT_TRUE(ownership.GiveToGroup(v, {.group = ::getegid()}).ok());
  EXPECT_EQ(ModeOf(v), 02770u);
  FailPoints::SetCurrent(nullptr);
}

TEST(Ownership, WhatIsTooDeepIsCountedAndTheRestIsDone) {
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  std::string deep = dir.path() + "/v";
  for (int i = 0; i < 70; ++i) deep += "/d";
  ASSERT_TRUE(files.MakeDirs(deep, 0700).ok());
  ASSERT_TRUE(files.Replace(dir.path() + "/v/z", "1", {.mode = 0400}).ok());
  const auto done = ownership.GiveToGroup(dir.path() + "/v", {.group = ::getegid()});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->failed, 1u);
  EXPECT_EQ(done->first_failure.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(ModeOf(dir.path() + "/v/z"), 0660u);
  EXPECT_EQ(ModeOf(deep), 0700u);
}

}  // namespace
}  // namespace splitlet::fs
