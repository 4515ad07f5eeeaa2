#include "libs/fs/ownership.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/fs/fake_ownership.h"
#include "libs/fs/fd.h"
#include "libs/fs/mounts.h"
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
  std::vector<uint64_t> told;
  const auto done = tree.ownership.GiveToGroup(
      v, {.group = ::getegid()}, [&told](uint64_t entries) { told.push_back(entries); });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->entries, 7u);
  EXPECT_EQ(told, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7}));
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
  // The group is set before the mode, so that a set-group-id program never runs as the new group by
  // accident.
  ASSERT_EQ(::chmod((dir.path() + "/v/a").c_str(), 04755), 0);
  ASSERT_TRUE(ownership.GiveToGroup(dir.path() + "/v", {.group = 2000}).ok());
  EXPECT_EQ(GroupOf(dir.path() + "/v/sub/c"), 2000u);
  EXPECT_EQ(GroupOf(dir.path() + "/v/out"), 2000u);
  EXPECT_EQ(GroupOf(dir.path() + "/outside/file"), ::getegid());
  EXPECT_EQ(ModeOf(dir.path() + "/v/a"), 04775u);
}

/// After a kill during the walk, the top shows that the tree does not belong to the group yet.
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

Fd Into(const Fd& parent, const char* name) {
  Fd fd(::openat(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  EXPECT_TRUE(fd.ok()) << std::strerror(errno);
  return fd;
}

mode_t ModeIn(const Fd& parent, const char* name) {
  struct stat info {};
  EXPECT_EQ(::fstatat(parent.get(), name, &info, AT_SYMLINK_NOFOLLOW), 0) << name;
  return info.st_mode & 07777;
}

/// While this object exists, only a few more files can be opened.
class FewDescriptors {
 public:
  FewDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few{128, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST(Ownership, ATreeIsGivenHoweverDeepItIsWithFewDescriptors) {
  constexpr int kDepth = 2000;  // deeper than the walk remembers the way back
  const std::vector<const char*> kFiles = {"a", "m", "z"};
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  const std::string v = dir.path() + "/v";
  ASSERT_TRUE(files.MakeDirs(v, 0700).ok());
  const auto top = [&v] { return Fd(::open(v.c_str(), O_RDONLY | O_DIRECTORY)); };
  Fd at = top();
  for (int i = 0; i < kDepth; ++i) {
    for (const char* name : kFiles)
      ASSERT_TRUE(Fd(::openat(at.get(), name, O_CREAT | O_WRONLY, 0400)).ok());
    for (const char* name : {"b", "d", "y"}) ASSERT_EQ(::mkdirat(at.get(), name, 0700), 0);
    at = Into(at, "d");
  }
  {
    const FewDescriptors few;
    const auto done = ownership.GiveToGroup(v, {.group = ::getegid()});
    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(done->entries, 6u * kDepth + 1) << "each once";
    EXPECT_EQ(done->failed, 0u) << done->first_failure;
  }
  EXPECT_EQ(ModeOf(v), 02770u);
  at = top();
  for (int i = 0; i < kDepth && !HasFailure(); ++i) {
    for (const char* name : kFiles) EXPECT_EQ(ModeIn(at, name), 0660u) << i;
    for (const char* name : {"b", "d", "y"}) EXPECT_EQ(ModeIn(at, name), 02770u) << i;
    at = Into(at, "d");
  }
  EXPECT_TRUE(files.RemoveTree(v).ok());
}

TEST(Ownership, WhatIsMountedInATreeIsNotOfItAndTheRestIsDone) {
  const harness::TempDir dir;
  RealFileSystem files;
  RealOwnership ownership;
  RealMounts mounts;
  const std::string v = dir.path() + "/v", mounted = v + "/mounted";
  ASSERT_TRUE(files.MakeDirs(mounted, 0700).ok());
  ASSERT_TRUE(files.Replace(v + "/z", "1", {.mode = 0400}).ok());
  const Status status =
      mounts.Mount({.type = "tmpfs", .path = mounted, .options = "size=65536,mode=0700"});
  if (status.code() == StatusCode::kPermissionDenied) GTEST_SKIP() << "may not mount here";
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(files.Replace(mounted + "/file", "1", {.mode = 0400}).ok());
  const auto done = ownership.GiveToGroup(v, {.group = ::getegid()});
  const mode_t of_root = ModeOf(mounted), of_file = ModeOf(mounted + "/file");
  ASSERT_TRUE(ownership.GiveToGroup(mounted, {.group = ::getegid()}).ok());
  EXPECT_EQ(ModeOf(mounted), 02770u) << "the top may be a mount";
  ASSERT_TRUE(mounts.Unmount(mounted).ok());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->entries, 3u);
  EXPECT_EQ(done->failed, 1u);
  EXPECT_EQ(done->first_failure.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(of_root, 0700u);
  EXPECT_EQ(of_file, 0400u);
  EXPECT_EQ(ModeOf(v + "/z"), 0660u);
}

}  // namespace
}  // namespace splitlet::fs
