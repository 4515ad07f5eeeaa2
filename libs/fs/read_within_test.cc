#include "libs/fs/read_within.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/harness/child.h"

namespace splitlet::fs {
namespace {

class ReadWithinTest : public testing::Test {
 protected:
  ReadWithinTest() {
    std::filesystem::create_directories(root() + "/sub");
    Write(root() + "/sub/file", "inside");
    Write(dir_.path() + "/secret", "outside");
  }
  std::string root() const { return dir_.path() + "/root"; }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  void Link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, root() + "/" + name);
  }
  /// The text, or "error".
  std::string Read(const std::string& path) const {
    const auto text = ReadWithin(root(), path, 100);
    return text.ok() ? *text : "error";
  }
  const harness::TempDir dir_;
};

TEST_F(ReadWithinTest, NothingLeadsOut) {
  Link(dir_.path() + "/secret", "absolute");
  Link("../secret", "relative");
  Link("../../../../../../../../etc/passwd", "far");
  Link("/proc/self/root/etc/passwd", "magic");
  Link("/sub/file", "own");
  Link("..", "up");
  Link("loop", "loop");
  const struct {
    const char* path;
    const char* want;
  } kCases[] = {
      {"sub/file", "inside"}, {"/sub/file", "inside"}, {"own", "inside"}, {"up/sub/file", "inside"},
      {"absolute", "error"},  {"relative", "error"},   {"far", "error"},  {"magic", "error"},
      {"../secret", "error"}, {"loop", "error"},       {"sub", "error"},  {"none", "error"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    EXPECT_EQ(Read(c.path), c.want);
  }
}

TEST_F(ReadWithinTest, APipeDoesNotHold) {
  ASSERT_EQ(::mkfifo((root() + "/pipe").c_str(), 0644), 0);
  EXPECT_EQ(Read("pipe"), "error");
}

TEST_F(ReadWithinTest, WhatIsMissingAndWhatIsTooLongSaysSo) {
  EXPECT_EQ(ReadWithin(root(), "none", 100).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadWithin(root() + "/none", "file", 100).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadWithin(root(), "sub/file", 6).value(), "inside");
  EXPECT_EQ(ReadWithin(root(), "sub/file", 5).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace splitlet::fs
