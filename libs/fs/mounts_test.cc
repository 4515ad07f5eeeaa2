#include "libs/fs/mounts.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libs/fs/fake_mounts.h"
#include "libs/fs/real_file_system.h"

namespace splitlet::fs {
namespace {

class FakeClock final : public Clock {
 public:
  Time Now() const override { return {1, Duration{0}}; }
  WallTime WallNow() const override { return {}; }
};

/// A file system of memory comes and goes with what was written to it.
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
}

/// In a process of its own that has lost the right to mount. 0: it went well.
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

}  // namespace
}  // namespace splitlet::fs
