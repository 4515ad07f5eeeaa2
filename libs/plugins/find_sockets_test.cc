#include "libs/plugins/find_sockets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "libs/fs/fake_file_system.h"

namespace splitlet::plugins {
namespace {

const std::string kFoundDirectory = "/reg";

class FindSocketsTest : public testing::Test {
 protected:
  FindSocketsTest() { MakeDir(kFoundDirectory); }
  void MakeDir(const std::string& path) { ASSERT_TRUE(files_.MakeDirs(path, 0750).ok()); }
  FoundSockets Find() { return FindSockets(files_, kFoundDirectory); }
  static std::vector<std::string> Paths(const FoundSockets& found) {
    std::vector<std::string> paths;
    for (const auto& [path, socket] : found.sockets) paths.push_back(path);
    return paths;
  }
  using Names = std::vector<std::string>;

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
};

TEST_F(FindSocketsTest, FindsSocketsInFoldersOfAnyDepth) {
  MakeDir("/reg/csi/disk");
  files_.MakeSocket("/reg/a.sock");
  files_.MakeSocket("/reg/csi/disk/reg.sock");
  files_.MakeSocket("/reg/kubelet.sock");
  const auto found = Find();
  EXPECT_EQ(Paths(found), (Names{"/reg/a.sock", "/reg/csi/disk/reg.sock", "/reg/kubelet.sock"}));
  EXPECT_EQ(found.folders, (std::set<std::string>{"/reg/csi", "/reg/csi/disk"}));
  EXPECT_TRUE(found.refused.empty());
  EXPECT_TRUE(found.unread.empty());
}

TEST_F(FindSocketsTest, SkipsNamesWithADotAndWhatIsNoSocket) {
  MakeDir("/reg/.hidden");
  files_.MakeSocket("/reg/.a.sock");
  files_.MakeSocket("/reg/.hidden/b.sock");
  ASSERT_TRUE(files_.Replace("/reg/file", "x", {}).ok());
  ASSERT_TRUE(files_.MakeSymlink("/reg/file", "/reg/link").ok());
  ASSERT_TRUE(files_.MakeSymlink("/nowhere", "/reg/broken").ok());
  const auto found = Find();
  EXPECT_TRUE(found.sockets.empty());
  EXPECT_TRUE(found.folders.empty());
  EXPECT_TRUE(found.refused.empty());
}

TEST_F(FindSocketsTest, ALinkIsNotFollowed) {
  MakeDir("/elsewhere");
  files_.MakeSocket("/elsewhere/a.sock");
  ASSERT_TRUE(files_.MakeSymlink("/elsewhere/a.sock", "/reg/a.sock").ok());
  ASSERT_TRUE(files_.MakeSymlink("/elsewhere", "/reg/folder").ok());
  const auto found = Find();
  EXPECT_TRUE(found.sockets.empty());
  EXPECT_TRUE(found.folders.empty());
  EXPECT_EQ(found.refused,
            (std::map<std::string, std::string>{
                {"/reg/a.sock", "a link to a socket; the plugin must create its socket here"}}));
}

TEST_F(FindSocketsTest, APathThatNoAddressTakesIsRefused) {
  const std::string fits = "/reg/" + std::string(102, 'a'),
                    longer = "/reg/" + std::string(103, 'b');
  files_.MakeSocket(fits);
  files_.MakeSocket(longer);
  const auto found = Find();
  EXPECT_EQ(Paths(found), Names{fits});
  EXPECT_EQ(found.refused.at(longer),
            "the path has 108 bytes, the address of a unix socket takes 107");
}

TEST_F(FindSocketsTest, ANameThatIsNoTextIsRefused) {
  files_.MakeSocket("/reg/a\xff.sock");
  const auto found = Find();
  EXPECT_TRUE(found.sockets.empty());
  EXPECT_EQ(found.refused.size(), 1u);
}

TEST_F(FindSocketsTest, ASocketCreatedAgainIsAnother) {
  files_.MakeSocket("/reg/a.sock");
  const auto before = Find();
  EXPECT_EQ(Find().sockets, before.sockets);
  files_.MakeSocket("/reg/a.sock");
  EXPECT_NE(Find().sockets, before.sockets);
}

TEST_F(FindSocketsTest, AMissingDirectoryIsMadeAndHasNone) {
  ASSERT_TRUE(files_.RemoveTree("/reg").ok());
  const auto found = Find();
  EXPECT_TRUE(found.sockets.empty());
  EXPECT_TRUE(found.unread.empty());
  const auto made = files_.Stat("/reg", false);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->kind, fs::FileInfo::Kind::kDirectory);
}

TEST_F(FindSocketsTest, AMissingDirectoryThatCannotBeMadeIsReported) {
  ASSERT_TRUE(files_.RemoveTree("/reg").ok());
  files_.SetFull("/", true);
  EXPECT_TRUE(Find().refused.at("/reg").starts_with("cannot make the directory: "));
}

TEST_F(FindSocketsTest, WhatCannotBeReadIsUnknown) {
  MakeDir("/reg/csi");
  files_.MakeSocket("/reg/csi/a.sock");
  files_.MakeSocket("/reg/b.sock");
  const auto before = Find();
  files_.Fail("/reg/csi", PermissionDenied("no"));
  auto now = Find();
  EXPECT_EQ(Paths(now), Names{"/reg/b.sock"});
  KeepUnread(before, now);
  EXPECT_EQ(now.sockets, before.sockets);
  EXPECT_EQ(now.folders, before.folders);

  files_.Fail("/reg/csi", OkStatus());
  files_.Fail("/reg", Unavailable("the disk is away"));
  auto none = Find();
  EXPECT_TRUE(none.sockets.empty());
  KeepUnread(before, none);
  EXPECT_EQ(none.sockets, before.sockets);
}

TEST_F(FindSocketsTest, OneSocketThatCannotBeInspectedIsUnknown) {
  files_.MakeSocket("/reg/a.sock");
  const auto before = Find();
  files_.Fail("/reg/a.sock", Unavailable("the disk is away"));
  auto now = Find();
  KeepUnread(before, now);
  EXPECT_EQ(now.sockets, before.sockets);
}

TEST_F(FindSocketsTest, AboveTheBoundTheKnownOnesStay) {
  files_.MakeSocket("/reg/z.sock");
  const auto before = Find();
  for (size_t i = 0; i < kMostSockets; ++i) files_.MakeSocket(fmt::format("/reg/a{:03}.sock", i));
  auto now = Find();
  EXPECT_EQ(now.sockets.size(), kMostSockets);
  EXPECT_FALSE(now.sockets.contains("/reg/z.sock"));
  KeepUnread(before, now);
  EXPECT_TRUE(now.sockets.contains("/reg/z.sock"));
  EXPECT_EQ(Message(now.unread.at("/reg/z.sock")), "more than 256 sockets");
}

TEST_F(FindSocketsTest, FoldersAreBounded) {
  for (size_t i = 0; i <= kMostFolders; ++i) MakeDir(fmt::format("/reg/f{:02}", i));
  const auto found = Find();
  EXPECT_EQ(found.folders.size(), kMostFolders);
  EXPECT_EQ(Message(found.unread.at("/reg/f32")), "more than 32 folders");
}

}  // namespace
}  // namespace splitlet::plugins
