#include "libs/fs/mounts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "libs/fs/fake_mounts.h"
#include "libs/fs/group_of.h"
#include "libs/fs/open_within.h"
#include "libs/fs/real_file_system.h"
#include "tests/harness/at_least.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

/// Unmounting a memory file system removes its files.
void CheckMount(FileSystem& files, Mounts& mounts, const std::string& dir) {
  ASSERT_TRUE(files.MakeDirs(dir + "/v", 0755).ok());
  EXPECT_FALSE(mounts.IsMountPoint(dir + "/v").value());
  EXPECT_EQ(mounts.IsMountPoint(dir + "/none").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(mounts.Unmount(dir + "/v").ok()) << "nothing is mounted there";
  ASSERT_TRUE(mounts.Unmount(dir + "/none").ok());
  const Status mounted =
      mounts.Mount({.type = "tmpfs", .path = dir + "/v", .options = "size=65536"});
  if (mounted.code() == StatusCode::kPermissionDenied) GTEST_SKIP() << "may not mount here";
  ASSERT_TRUE(mounted.ok()) << mounted;
  EXPECT_TRUE(mounts.IsMountPoint(dir + "/v").value());
  ASSERT_TRUE(files.Replace(dir + "/v/a", "1", {}).ok());
  ASSERT_TRUE(files.MakeSymlink("v", dir + "/link").ok());
  EXPECT_FALSE(mounts.IsMountPoint(dir + "/link").value()) << "a link is none";
  EXPECT_EQ(files.RemoveTree(dir).code(), StatusCode::kFailedPrecondition);
  ASSERT_TRUE(mounts.Unmount(dir + "/v").ok());
  EXPECT_FALSE(mounts.IsMountPoint(dir + "/v").value());
  EXPECT_FALSE(files.Stat(dir + "/v/a", false).ok());
  ASSERT_TRUE(files.RemoveTree(dir).ok());
}

/// Parts of a volume are bound at their targets, and nothing outside of the volume is.
void CheckBind(FileSystem& files, Mounts& mounts, const std::string& dir) {
  const std::string v = dir + "/v";
  ASSERT_TRUE(files.MakeDirs(v + "/sub", 0777).ok());
  ASSERT_TRUE(files.MakeDirs(dir + "/t", 0750).ok());
  ASSERT_TRUE(files.MakeDirs(dir + "/secret", 0700).ok());
  ASSERT_TRUE(files.Replace(v + "/sub/file", "inside", {}).ok());
  ASSERT_TRUE(files.MakeSymlink("sub", v + "/own").ok());
  ASSERT_TRUE(files.MakeSymlink("../secret", v + "/relative").ok());
  ASSERT_TRUE(files.MakeSymlink(dir + "/secret", v + "/absolute").ok());
  ASSERT_TRUE(files.MakeSymlink("loop", v + "/loop").ok());
  ASSERT_TRUE(files.MakeSymlink(dir + "/v/sub", v + "/absolute-own").ok());
  ASSERT_TRUE(files.MakeSymlink("../v/own", v + "/out-and-back").ok());
  ASSERT_TRUE(files.MakeSymlink(dir + "/v-beside", v + "/beside").ok());
  ASSERT_TRUE(files.MakeDirs(dir + "/v-beside", 0700).ok());
  const std::string target = dir + "/t/0";
  const auto bind = [&](const std::string& path) { return mounts.BindWithin({v, path, target}); };
  const Status first = bind("sub");
  if (first.code() == StatusCode::kPermissionDenied) GTEST_SKIP() << "may not mount here";
  ASSERT_TRUE(first.ok()) << first;
  EXPECT_TRUE(mounts.IsMountPoint(target).value());
  for (const char* path :
       {"relative", "relative/x", "absolute", "absolute/new", "../secret", "sub/../../secret",
        "../v/sub", "loop", "sub/file/x", "beside", "beside/new", "absolute-own/../../secret"})
    EXPECT_FALSE(bind(path).ok()) << path;
  EXPECT_FALSE(files.Stat(dir + "/secret/x", false).ok()) << "nothing is made outside";
  EXPECT_FALSE(files.Stat(dir + "/secret/new", false).ok());
  EXPECT_TRUE(files.List(dir + "/v-beside")->empty());
  EXPECT_TRUE(mounts.IsMountPoint(target).value()) << "what was there before stays";
  const struct {
    const char* path;
    FileInfo::Kind kind;
  } kCases[] = {
      {"sub", FileInfo::Kind::kDirectory},
      {"own", FileInfo::Kind::kDirectory},
      {"own/file", FileInfo::Kind::kFile},
      {"sub/file", FileInfo::Kind::kFile},
      {"new/deep", FileInfo::Kind::kDirectory},
      {"own/made", FileInfo::Kind::kDirectory},
      {"./sub//file", FileInfo::Kind::kFile},
      {".", FileInfo::Kind::kDirectory},
      {"/sub/", FileInfo::Kind::kDirectory},
      {"absolute-own/file", FileInfo::Kind::kFile},
      {"out-and-back", FileInfo::Kind::kDirectory},
      {"absolute-own/made-by-it/deep", FileInfo::Kind::kDirectory},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    const Status bound = bind(c.path);
    ASSERT_TRUE(bound.ok()) << bound;
    EXPECT_TRUE(mounts.IsMountPoint(target).value());
    EXPECT_EQ(files.Stat(target, false)->kind, c.kind);
  }
  EXPECT_TRUE(files.Stat(v + "/new/deep", false).ok());
  EXPECT_TRUE(files.Stat(v + "/sub/made", false).ok());
  EXPECT_TRUE(files.Stat(v + "/sub/made-by-it/deep", false).ok());
  EXPECT_EQ(mounts.BindWithin({dir + "/none", "a", target}).code(), StatusCode::kNotFound);
  ASSERT_TRUE(mounts.Unmount(target).ok());
  EXPECT_FALSE(mounts.IsMountPoint(target).value()) << "one mount was on the other";
  ASSERT_TRUE(files.RemoveTree(dir).ok());
}

TEST(Mounts, TheKernels) {
  RealFileSystem files;
  RealMounts mounts;
  CheckMount(files, mounts, testing::TempDir() + "/mounts-" + std::to_string(::getpid()));
}

TEST(Mounts, Fake) {
  FakeClock clock;
  FakeFileSystem files(clock);
  FakeMounts mounts(files);
  CheckMount(files, mounts, "/dir");
  CheckBind(files, mounts, "/dir");
}

class BindWithin : public testing::Test {
 protected:
  ~BindWithin() override { EXPECT_TRUE(mounts_.Unmount(target_).ok()); }
  bool MayMount() { return ::geteuid() == 0 && Bind(".").code() != StatusCode::kPermissionDenied; }
  Status Bind(const std::string& path) { return mounts_.BindWithin({volume_, path, target_}); }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  RealFileSystem files_;
  RealMounts mounts_;
  const harness::TempDir dir_;
  const std::string volume_ = dir_.path() + "/v", target_ = dir_.path() + "/t/0";
};

TEST_F(BindWithin, TheKernels) { CheckBind(files_, mounts_, dir_.path() + "/own"); }

TEST_F(BindWithin, WhatIsMissingGetsTheModeOfTheVolume) {
  ASSERT_TRUE(files_.MakeDirs(volume_, 0777).ok());
  ASSERT_TRUE(files_.MakeDirs(dir_.path() + "/t", 0750).ok());
  if (!MayMount()) GTEST_SKIP() << "may not mount here";
  ASSERT_EQ(::chmod(volume_.c_str(), 03777), 0);
  const mode_t before = ::umask(077);
  const Status bound = Bind("a/b");
  ::umask(before);
  ASSERT_TRUE(bound.ok()) << bound;
  EXPECT_EQ(ModeOf(volume_ + "/a"), 03777u);
  EXPECT_EQ(ModeOf(target_), 03777u);
  ASSERT_TRUE(files_.Replace(volume_ + "/a/b/file", "seen", {}).ok());
  EXPECT_EQ(files_.Read(target_ + "/file", 10).value_or(""), "seen");
}

TEST_F(BindWithin, WhatTakesItsPlaceLaterIsNotSeenBeforeTheNextTime) {
  ASSERT_TRUE(files_.MakeDirs(volume_ + "/a", 0777).ok());
  ASSERT_TRUE(files_.MakeDirs(dir_.path() + "/t", 0750).ok());
  if (!MayMount()) GTEST_SKIP() << "may not mount here";
  ASSERT_TRUE(Bind("a").ok());
  const uint64_t first = files_.Stat(volume_ + "/a", false)->inode;
  ASSERT_TRUE(files_.Rename(volume_ + "/a", volume_ + "/old").ok());
  ASSERT_TRUE(files_.MakeDirs(volume_ + "/a", 0777).ok());
  EXPECT_EQ(files_.Stat(target_, false)->inode, first);
  ASSERT_TRUE(Bind("a").ok());
  EXPECT_EQ(files_.Stat(target_, false)->inode, files_.Stat(volume_ + "/a", false)->inode);
}

/// A name like that of a block device.
TEST_F(BindWithin, FromTheRootOfTheMachineEveryLinkLeadsToAPlaceWithin) {
  ASSERT_TRUE(files_.MakeDirs(volume_ + "/d/sub", 0777).ok());
  ASSERT_TRUE(files_.MakeDirs(dir_.path() + "/t", 0750).ok());
  ASSERT_TRUE(files_.MakeSymlink(volume_ + "/d", volume_ + "/absolute").ok());
  if (!MayMount()) GTEST_SKIP() << "may not mount here";
  const Status bound = mounts_.BindWithin({"/", volume_ + "/absolute/sub", target_});
  ASSERT_TRUE(bound.ok()) << bound;
  EXPECT_EQ(files_.Stat(target_, false)->inode, files_.Stat(volume_ + "/d/sub", false)->inode);
}

/// A container swaps a directory with a link that leads out, as fast as it can.
TEST_F(BindWithin, LinksThatAreSwappedMeanwhileNeverLeadOut) {
  ASSERT_TRUE(files_.MakeDirs(volume_ + "/d/sub", 0777).ok());
  ASSERT_TRUE(files_.MakeDirs(dir_.path() + "/t", 0750).ok());
  ASSERT_TRUE(files_.MakeDirs(dir_.path() + "/secret/sub", 0700).ok());
  ASSERT_TRUE(files_.MakeSymlink("../secret", volume_ + "/link").ok());
  ASSERT_TRUE(files_.MakeSymlink(volume_ + "/d", volume_ + "/absolute").ok());
  if (!MayMount()) GTEST_SKIP() << "may not mount here";
  const std::string d = volume_ + "/d", link = volume_ + "/link";
  std::atomic<bool> done = false;
  std::jthread swapper([&] {
    while (!done) ::renameat2(AT_FDCWD, d.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  const std::vector<uint64_t> outside = {files_.Stat(dir_.path() + "/secret", false)->inode,
                                         files_.Stat(dir_.path() + "/secret/sub", false)->inode};
  int bound = 0, bound_by_absolute_link = 0;
  const harness::AtLeast at_least(2000);
  for (int i = 0; at_least.GoesOn(i); ++i) {
    const bool absolute = i % 4 >= 2;
    const std::string path = fmt::format("{}/{}", absolute ? "absolute" : "d",
                                         i % 2 == 0 ? "sub" : fmt::format("new-{}", i % 5000));
    if (!Bind(path).ok()) continue;
    ++bound;
    bound_by_absolute_link += absolute ? 1 : 0;
    const uint64_t seen = files_.Stat(target_, false)->inode;
    ASSERT_TRUE(std::find(outside.begin(), outside.end(), seen) == outside.end()) << path;
  }
  done = true;
  swapper.join();
  EXPECT_GT(bound, 0);
  EXPECT_GT(bound_by_absolute_link, 0);
  EXPECT_EQ(files_.List(dir_.path() + "/secret")->size(), 1u) << "nothing is made outside";
}

/// A pod that makes links learns nothing about their targets, and no network server is contacted.
TEST(OpenOrMakeWithin, OfALinkThatLeadsOutOneAnswerWhateverIsThere) {
  const harness::TempDir dir;
  RealFileSystem files;
  const std::string volume = dir.path() + "/v", out = dir.path() + "/out";
  ASSERT_TRUE(files.MakeDirs(volume, 0777).ok());
  ASSERT_TRUE(files.MakeDirs(out + "/dir", 0777).ok());
  ASSERT_TRUE(files.Replace(out + "/file", "1", {}).ok());
  ASSERT_TRUE(files.MakeSymlink("loop", out + "/loop").ok());
  ASSERT_TRUE(files.MakeSymlink(volume, out + "/back").ok());
  for (const char* there : {"dir", "file", "loop", "none", "file/x", "back"}) {
    for (const std::string& target : {out + "/" + there, fmt::format("../out/{}", there)}) {
      SCOPED_TRACE(target);
      ASSERT_TRUE(files.MakeSymlink(target, volume + "/link").ok());
      for (const char* path : {"link", "link/new"})
        EXPECT_EQ(OpenOrMakeWithin(volume, path).status(), OutOfRange("it leads out")) << path;
      ASSERT_TRUE(files.Remove(volume + "/link").ok());
    }
  }
  EXPECT_EQ(files.List(out)->size(), 4u);
  EXPECT_TRUE(files.List(out + "/dir")->empty());
  EXPECT_TRUE(files.List(volume)->empty());
}

/// The root's path may contain a link, as when the kubelet's directory is on another disk.
TEST(OpenOrMakeWithin, AbsoluteLinksNameTheRootAsTheCallerDoesOrWithoutALink) {
  const harness::TempDir dir;
  RealFileSystem files;
  const std::string real = dir.path() + "/disk/v", given = dir.path() + "/named/v";
  ASSERT_TRUE(files.MakeDirs(real + "/sub/deep", 0777).ok());
  ASSERT_TRUE(files.MakeSymlink("disk", dir.path() + "/named").ok());
  ASSERT_TRUE(files.MakeSymlink("disk", dir.path() + "/other").ok());
  const struct {
    std::string target, path;
    StatusCode want;
  } kCases[] = {
      {real + "/sub", "link/deep", StatusCode::kOk},
      {given + "/sub", "link/deep", StatusCode::kOk},
      {given + "/sub/../sub/deep", "link", StatusCode::kOk},
      {given + "/../v/sub", "link", StatusCode::kOk},
      {real, "link/sub", StatusCode::kOk},
      {"../../disk/v/sub", "link/deep", StatusCode::kOk},
      {"../../named/v/sub", "link", StatusCode::kOutOfRange},
      {dir.path() + "/other/v/sub", "link", StatusCode::kOutOfRange},
      {given + "/..", "link", StatusCode::kOutOfRange},
      {real + "/link", "link", StatusCode::kOutOfRange},
      {real + "/none", "link", StatusCode::kNotFound},
      {real + "/none", "link/new", StatusCode::kNotFound},
      {real + "/none/../sub", "link", StatusCode::kNotFound},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.target + " " + c.path);
    ASSERT_TRUE(files.MakeSymlink(c.target, real + "/link").ok());
    EXPECT_EQ(OpenOrMakeWithin(given, c.path).status().code(), c.want);
    ASSERT_TRUE(files.Remove(real + "/link").ok());
  }
  EXPECT_EQ(files.List(real)->size(), 1u);
}

/// Runs in a child process without the capability to mount. 0: success.
int UnmountWithoutRights(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct none[2] = {};
    ::_exit(::syscall(SYS_capset, &header, none) == 0 && RealMounts().Unmount(path).ok() ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Mounts, WhereNothingIsMountedNoRightIsNeeded) {
  RealFileSystem files;
  RealMounts mounts;
  const std::string dir = testing::TempDir() + "/unmount-" + std::to_string(::getpid());
  ASSERT_TRUE(files.MakeDirs(dir, 0755).ok());
  EXPECT_EQ(UnmountWithoutRights(dir), 0);
  EXPECT_EQ(UnmountWithoutRights(dir + "/none"), 0);
  if (mounts.Mount({.type = "tmpfs", .path = dir, .options = "size=65536"}).ok()) {
    EXPECT_EQ(UnmountWithoutRights(dir), 1) << "what is mounted stays, and is an error";
    ASSERT_TRUE(mounts.Unmount(dir).ok());
  }
  ASSERT_TRUE(files.RemoveTree(dir).ok());
}

TEST(GroupOf, IsThatOfWhatALinkLeadsTo) {
  const harness::TempDir dir;
  RealFileSystem files;
  ASSERT_TRUE(files.MakeDirs(dir.path() + "/v", 0755).ok());
  ASSERT_TRUE(files.MakeSymlink("v", dir.path() + "/link").ok());
  const gid_t group = ::geteuid() == 0 ? 2000 : ::getegid();
  ASSERT_EQ(::chown((dir.path() + "/v").c_str(), static_cast<uid_t>(-1), group), 0);
  EXPECT_EQ(GroupOf(dir.path() + "/v").value_or(OfGroup{}), (OfGroup{group, 0755}));
  EXPECT_EQ(GroupOf(dir.path() + "/link").value_or(OfGroup{}), (OfGroup{group, 0755}));
  EXPECT_EQ(GroupOf(dir.path() + "/none").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace splitlet::fs
