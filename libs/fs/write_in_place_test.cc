#include "libs/fs/write_in_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "libs/fs/real_file_system.h"

namespace splitlet::fs {
namespace {

class WriteInPlaceTest : public testing::Test {
 protected:
  WriteInPlaceTest() {
    std::filesystem::create_directories(folder_);
    std::ofstream(At("setting")) << "0\n";
    std::filesystem::create_symlink(At("setting"), At("link"));
  }
  ~WriteInPlaceTest() override { std::filesystem::remove_all(folder_); }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_ = testing::TempDir() + "/splitlet-write-in-place";
  RealFileSystem files_;
};

TEST_F(WriteInPlaceTest, TheFileStaysWhatItIs) {
  const auto before = files_.Stat(At("setting"), false);
  ASSERT_TRUE(WriteInPlace(At("setting"), "1\n").ok());
  EXPECT_EQ(*files_.Read(At("setting"), 16), "1\n");
  EXPECT_EQ(files_.Stat(At("setting"), false)->inode, before->inode);
}

TEST_F(WriteInPlaceTest, WhatIsNotThereIsNotMade) {
  EXPECT_EQ(WriteInPlace(At("missing"), "1").code(), StatusCode::kNotFound);
  EXPECT_EQ(files_.Stat(At("missing"), false).status().code(), StatusCode::kNotFound);
}

TEST_F(WriteInPlaceTest, NoLinkIsFollowed) {
  EXPECT_FALSE(WriteInPlace(At("link"), "1").ok());
  EXPECT_EQ(*files_.Read(At("setting"), 16), "0\n");
}

}  // namespace
}  // namespace splitlet::fs
