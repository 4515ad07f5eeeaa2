#include "libs/fs/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"

namespace splitlet::fs {
namespace {

using testing::ElementsAre;

TEST(MountTable, PointsInTheirOrder) {
  EXPECT_THAT(ParseMountPoints("36 35 98:0 / /mnt/a rw\n37 35 98:0 / /mnt/b rw - x\nbroken\n"),
              ElementsAre("/mnt/a", "/mnt/b"));
  EXPECT_THAT(ParseMountPoints("36 35 98:0 / /mnt/a\\040b\\134c\\9 rw\n"),
              ElementsAre("/mnt/a b\\c\\9"));
}

TEST(MountTable, BelowAFolderAndNotBesideIt) {
  const std::string table =
      "1 0 0:1 / /pods/u rw\n2 0 0:1 / /pods/u/v rw\n3 0 0:1 / /pods/uv rw\n4 0 0:1 / /pods/u/v "
      "rw\n";
  EXPECT_THAT(MountPointsBelow(table, "/pods/u"), ElementsAre("/pods/u", "/pods/u/v", "/pods/u/v"));
  EXPECT_THAT(MountPointsBelow(table, "/pods/u/v/w"), ElementsAre());
}

TEST(MountTable, WithoutOneNothingIsMounted) {
  FakeClock clock;
  FakeFileSystem files(clock);
  EXPECT_EQ(ReadMountTable(files).value_or("unread"), "");
  ASSERT_TRUE(files.Replace(kMountTable, "36 35 98:0 / /mnt/a rw\n", {}).ok());
  EXPECT_EQ(ReadMountTable(files).value_or(""), "36 35 98:0 / /mnt/a rw\n");
  files.Fail(kMountTable, PermissionDenied("no"));
  EXPECT_EQ(Message(ReadMountTable(files).status()), "/proc/self/mountinfo: read: no");
}

}  // namespace
}  // namespace splitlet::fs
