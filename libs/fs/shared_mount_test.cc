#include "libs/fs/shared_mount.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "libs/fs/mount_table.h"
#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

TEST(SharedMount, IsToldByTheMountThatHoldsTheDirectory) {
  const std::string private_root = "20 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";
  const std::string shared_root = "20 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n";
  const struct {
    const char* name;
    std::string table;
    Sharing want;
  } kCases[] = {
      {"a private root", private_root, Sharing::kPlain},
      {"a shared one", shared_root, Sharing::kShared},
      {"a slave of another one is private", "20 1 254:0 / / rw master:1 - ext4 /dev/vda rw\n",
       Sharing::kPlain},
      {"a private mount of its own", shared_root + "21 20 254:0 / /var/k rw - ext4 /dev/vda rw\n",
       Sharing::kOwnMount},
      {"a shared one of its own",
       private_root + "21 20 254:0 / /var/k rw shared:2 - ext4 /dev/vda rw\n", Sharing::kShared},
      {"the one on top counts",
       private_root + "21 20 254:0 / /var/k rw - ext4 /dev/vda rw\n" +
           "22 21 254:0 / /var/k rw shared:3 - ext4 /dev/vda rw\n",
       Sharing::kShared},
      {"a directory above it", private_root + "21 20 0:5 / /var rw shared:4 - tmpfs tmpfs rw\n",
       Sharing::kShared},
      {"one beside it", private_root + "21 20 0:5 / /var/kk rw shared:4 - tmpfs tmpfs rw\n",
       Sharing::kPlain},
      {"a volume below it", private_root + "21 20 0:5 / /var/k/pods/u rw - tmpfs tmpfs rw\n",
       Sharing::kOccupied},
      {"a name like the mark of a share", "20 1 254:0 / / rw,relatime - ext4 shared:1 rw\n",
       Sharing::kPlain},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(SharingOf(c.table, "/var/k"), c.want);
  }
}

TEST(SharedMount, TheKernelSaysSoAfterwardsAndTheSecondTimeNothingIsMounted) {
  const harness::TempDir dir;
  const std::string path = dir.path() + "/kubelet";
  ASSERT_EQ(::mkdir(path.c_str(), 0750), 0);
  const Status first = MakeShared(path);
  if (first.code() == StatusCode::kPermissionDenied) GTEST_SKIP() << "may not mount here";
  ASSERT_TRUE(first.ok()) << ToString(first);
  const auto table = [] {
    std::ostringstream text;
    text << std::ifstream(kMountTable).rdbuf();
    return text.str();
  };
  EXPECT_EQ(SharingOf(table(), path), Sharing::kShared);
  const size_t mounts = ParseMountPoints(table()).size();
  EXPECT_TRUE(MakeShared(path).ok());
  EXPECT_EQ(ParseMountPoints(table()).size(), mounts);
  ::umount2(path.c_str(), MNT_DETACH);
  EXPECT_EQ(MakeShared(path + "/none").code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace splitlet::fs
