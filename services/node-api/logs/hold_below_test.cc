#include "services/node-api/logs/hold_below.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace splitlet::node_api {
namespace {

namespace stdfs = std::filesystem;

class HoldBelowTest : public testing::Test {
 protected:
  HoldBelowTest() {
    std::array<char, 32> name{"/tmp/hold-below-XXXXXX"};
    CHECK(::mkdtemp(name.data()) != nullptr);
    dir_ = name.data();
    stdfs::create_directories(Root() + "/pods/web");
    Write(Root() + "/pods/web/0.log", "inside");
    Write(dir_ + "/secret", "outside");
  }
  ~HoldBelowTest() override { stdfs::remove_all(dir_); }

  std::string Root() const { return dir_ + "/log"; }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  void Link(const std::string& target, const std::string& name) {
    stdfs::create_symlink(target, Root() + "/" + name);
  }
  StatusOr<std::string> Read(const std::string& path) { return ReadBelow(Root(), path, 100); }

  std::string dir_;
};

TEST_F(HoldBelowTest, FollowsLinksThatStayAndNoneThatLeadOut) {
  Link("pods/web/0.log", "relative");
  Link(Root() + "/pods/web/0.log", "absolute");
  Link("pods", "folder");
  Link("pods/../pods/web/./0.log", "winding");
  Link(dir_ + "/secret", "out");
  Link("../secret", "up");
  Link("pods/web/../../../secret", "far-up");
  Link(Root() + "x/secret", "beside");
  Link(dir_, "out-folder");
  Link("/", "top");
  Link("loop", "loop");
  Link("nothing", "dangling");
  const struct {
    const char* path;
    StatusCode want;
  } kCases[] = {
      {"/pods/web/0.log", StatusCode::kOk},
      {"pods/web/0.log", StatusCode::kOk},
      {"/relative", StatusCode::kOk},
      {"/absolute", StatusCode::kOk},
      {"/folder/web/0.log", StatusCode::kOk},
      {"/winding", StatusCode::kOk},
      {"/out", StatusCode::kPermissionDenied},
      {"/up", StatusCode::kPermissionDenied},
      {"/far-up", StatusCode::kPermissionDenied},
      {"/beside", StatusCode::kPermissionDenied},
      {"/out-folder/secret", StatusCode::kPermissionDenied},
      {"/top/etc/passwd", StatusCode::kPermissionDenied},
      {"/../secret", StatusCode::kPermissionDenied},
      {"/loop", ErrnoStatus(ELOOP).code()},
      {"/dangling", StatusCode::kNotFound},
      {"/nosuch", StatusCode::kNotFound},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    const auto text = Read(c.path);
    EXPECT_EQ(text.status().code(), c.want) << text.status();
    EXPECT_EQ(text.value_or("inside"), "inside");
  }
}

TEST_F(HoldBelowTest, WhatIsHeldStaysWhateverTakesItsName) {
  const auto held = HoldBelow(Root(), "/pods/web");
  ASSERT_TRUE(held.ok()) << held.status();
  stdfs::rename(Root() + "/pods/web", Root() + "/pods/old");
  stdfs::create_symlink(dir_, Root() + "/pods/web");
  std::ifstream file(held->path + "/0.log");
  std::string text;
  file >> text;
  EXPECT_EQ(text, "inside");
  EXPECT_FALSE(stdfs::exists(held->path + "/secret"));
}

TEST_F(HoldBelowTest, APipeIsNoFileAndHoldsNobodyUp) {
  ASSERT_EQ(::mkfifo((Root() + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(Read("/pipe").ok());
}

}  // namespace
}  // namespace splitlet::node_api
