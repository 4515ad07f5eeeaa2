#include "services/gc/eviction/tree_meter.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace splitlet::gc {
namespace {

namespace stdfs = std::filesystem;

class TreeMeterTest : public testing::Test {
 protected:
  TreeMeterTest() {
    std::string name = testing::TempDir() + "/meter-XXXXXX";
    top = ::mkdtemp(name.data());
  }
  ~TreeMeterTest() override {
    std::error_code error;
    stdfs::remove_all(top, error);
  }
  void Write(const std::string& path, size_t bytes) {
    std::ofstream(top + "/" + path) << std::string(bytes, 'x');
  }
  /// What the kernel says of one path.
  int64_t BlocksOf(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(::lstat((top + path).c_str(), &found), 0);
    return found.st_blocks * 512;
  }
  DiskFigures Measure(const std::string& path = "") {
    const auto measured = meter->Measure(top + path);
    EXPECT_TRUE(measured.ok()) << measured.status();
    return measured.ok() ? *measured : DiskFigures{};
  }
  std::string top;
  std::unique_ptr<TreeMeter> meter = MakeTreeMeter();
};

TEST_F(TreeMeterTest, CountsBlocksAndInodesOfEverythingBelow) {
  ASSERT_TRUE(stdfs::create_directories(top + "/a/b"));
  Write("a/b/file", 1 << 20);
  Write("other", 10);
  const DiskFigures sum = Measure();
  EXPECT_EQ(sum.inodes, 5);
  EXPECT_EQ(sum.bytes, BlocksOf("") + BlocksOf("/a") + BlocksOf("/a/b") + BlocksOf("/a/b/file") +
                           BlocksOf("/other"));
  EXPECT_GE(BlocksOf("/a/b/file"), 1 << 20);
}

TEST_F(TreeMeterTest, AFileWithManyNamesIsCountedOnce) {
  Write("one", 1 << 20);
  const DiskFigures before = Measure();
  stdfs::create_hard_link(top + "/one", top + "/two");
  stdfs::create_hard_link(top + "/one", top + "/three");
  EXPECT_EQ(Measure().inodes, before.inodes);
  EXPECT_LT(Measure().bytes, before.bytes + (1 << 20));
}

TEST_F(TreeMeterTest, LinksAreNotFollowed) {
  ASSERT_TRUE(stdfs::create_directories(top + "/tree"));
  Write("outside", 1 << 20);
  stdfs::create_symlink(top + "/outside", top + "/tree/file");
  stdfs::create_directory_symlink(top, top + "/tree/up");
  EXPECT_EQ(Measure("/tree").inodes, 3);
  EXPECT_LT(Measure("/tree").bytes, 1 << 20);
  EXPECT_FALSE(meter->Measure(top + "/tree/up").ok()) << "nor is the top one";
}

TEST_F(TreeMeterTest, AFileWithHolesTakesWhatItTakes) {
  Write("hole", 1);
  stdfs::resize_file(top + "/hole", 1 << 30);
  EXPECT_LT(Measure().bytes, 1 << 20);
}

TEST_F(TreeMeterTest, WhatIsNotThereTakesNothing) {
  EXPECT_EQ(Measure("/missing"), DiskFigures{});
  EXPECT_FALSE(meter->DeviceOf(top + "/missing").ok());
  EXPECT_TRUE(meter->DeviceOf(top).ok());
}

}  // namespace
}  // namespace splitlet::gc
