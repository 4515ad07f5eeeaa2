#include "tests/harness/child.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>

#include "libs/fs/mount_table.h"

namespace splitlet::harness {
namespace {

/// Like mounts of a pod that outlives the processes of its node.
TEST(TempDir, GoesWithWhatIsMountedBelowItAndWithNothingElse) {
  // In a private mount namespace, so that nothing is left on the machine.
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    GTEST_SKIP() << "mounting needs root";
  const TempDir other;
  WriteFile(other / "kept", "x");
  std::string path;
  {
    const TempDir dir;
    path = dir.path();
    const std::string memory = dir / "in memory";
    std::filesystem::create_directories(memory);
    ASSERT_EQ(mount("tmpfs", memory.c_str(), "tmpfs", 0, "size=1m"), 0);
    std::filesystem::create_directories(memory + "/of other");
    ASSERT_EQ(
        mount(other.path().c_str(), (memory + "/of other").c_str(), nullptr, MS_BIND, nullptr), 0);
    // A busy mount, with another mount over it.
    std::filesystem::current_path(memory);
    ASSERT_EQ(mount("tmpfs", memory.c_str(), "tmpfs", 0, "size=1m"), 0);
  }
  std::filesystem::current_path("/");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(fs::MountPointsBelow(ReadFile(fs::kMountTable), path).empty());
  EXPECT_EQ(ReadFile(other / "kept"), "x");
}

}  // namespace
}  // namespace splitlet::harness
