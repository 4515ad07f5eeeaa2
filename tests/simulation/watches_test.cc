// The checks of a simulated node find planted violations.

#include <gtest/gtest.h>

#include "services/pod-worker/volumes/atomic_writer.h"
#include "tests/simulation/end_watch.h"
#include "tests/simulation/eviction_watch.h"
#include "tests/simulation/pull_watch.h"
#include "tests/simulation/volume_truth.h"

namespace splitlet::simulation {
namespace {

TEST(EndWatch, FindsAGroupThatIsAskedTooEarly) {
  FakeClock clock;
  EndWatch watch;
  watch.Begin(clock.Now(), {{.priority = 0, .seconds = 20}, {.priority = 1000, .seconds = 10}},
              {{"low", 0}, {"high", 1}});
  EXPECT_EQ(watch.OnAsked(clock.Now(), "low", {"low", "high"}), "");
  EXPECT_EQ(watch.OnAsked(clock.Now(), "high", {"high"}), "") << "the other has ended";
  EXPECT_EQ(watch.OnAsked(clock.Now(), "late", {"low"}), "") << "it was not there";
  EXPECT_NE(watch.OnAsked(clock.Now() + 19s, "high", {"low", "high"}), "");
  EXPECT_EQ(watch.OnAsked(clock.Now() + 20s, "high", {"low", "high"}), "") << "its time is over";
}

TEST(EndWatch, AGroupThatEndsEarlyLeavesItsTimeToNobody) {
  FakeClock clock;
  EndWatch watch;
  watch.Begin(clock.Now(),
              {{.priority = 0, .seconds = 20},
               {.priority = 1000, .seconds = 15},
               {.priority = 2000, .seconds = 10}},
              {{"low", 0}, {"middle", 1}, {"high", 2}});
  EXPECT_EQ(watch.OnAsked(clock.Now() + 15s, "high", {"middle", "high"}), "") << "low has ended";
  EXPECT_NE(watch.OnAsked(clock.Now() + 14s, "high", {"middle", "high"}), "");
  EXPECT_NE(watch.OnAsked(clock.Now() + 34s, "high", {"low", "middle", "high"}), "");
  EXPECT_EQ(watch.OnAsked(clock.Now() + 35s, "high", {"low", "middle", "high"}), "");
}

TEST(EndWatch, FindsWhoRunsOn) {
  FakeClock clock;
  EndWatch watch;
  watch.Begin(clock.Now(), {{.priority = 0, .seconds = 20}}, {{"a", 0}});
  EXPECT_EQ(watch.Overdue(clock.Now() + 9s, 8s, {"a"}), "") << "nobody has asked it";
  watch.OnAsked(clock.Now(), "a", {"a"});
  watch.OnAsked(clock.Now() + 5s, "a", {"a"});
  EXPECT_EQ(watch.Overdue(clock.Now() + 8s, 8s, {"a"}), "");
  EXPECT_EQ(watch.Overdue(clock.Now() + 9s, 8s, {}), "");
  EXPECT_NE(watch.Overdue(clock.Now() + 9s, 8s, {"a"}), "") << "the first question counts";
}

TEST(PullWatch, FindsAnImageThatIsPulledTwiceAtOnce) {
  std::vector<std::string> reported;
  PullWatch watch([&reported](const std::string& what) { reported.push_back(what); });
  const int first = watch.Begin("a", nullptr);
  watch.Begin("b", nullptr);
  watch.End(first);
  const auto given_up = std::make_shared<CancelToken>();
  watch.Begin("a", given_up);
  given_up->Cancel();
  watch.Begin("a", std::make_shared<CancelToken>());
  EXPECT_TRUE(reported.empty());
  watch.Begin("a", nullptr);
  EXPECT_EQ(reported.size(), 1U);
}

TEST(EvictionWatch, FindsWhatIsFoundOutOfTurn) {
  FakeClock clock;
  const auto now = clock.Now();
  EvictionWatch watch;
  EXPECT_EQ(watch.OnAsked(now, "a", false, {"a", "b"}), "");
  EXPECT_EQ(watch.OnAsked(now, "a", false, {"a", "b"}), "") << "asked again";
  EXPECT_NE(watch.OnAsked(now + 29s, "b", false, {"a", "b"}), "") << "the first still runs";
  EXPECT_EQ(watch.OnAsked(now + 29s, "c", false, {"c"}), "") << "the others have gone";
  EXPECT_NE(watch.OnAsked(now, "d", true, {"d"}), "") << "a critical one";
}

TEST(EvictionWatch, FindsWhoIsShownOtherwiseAndWhoIsSpared) {
  FakeClock clock;
  EvictionWatch watch;
  EXPECT_NE(watch.OnShown("x", "Failed", "Evicted"), "") << "nobody has asked for it";
  EXPECT_EQ(watch.OnShown("a", "Running", ""), "");
  watch.OnAsked(clock.Now(), "a", false, {});
  watch.OnTaken("a");
  EXPECT_NE(watch.AtRest({}), "") << "it is not shown";
  EXPECT_EQ(watch.AtRest({"a"}), "") << "it had ended by itself";
  EXPECT_EQ(watch.OnShown("a", "Failed", "Evicted"), "");
  EXPECT_EQ(watch.AtRest({}), "");
  EXPECT_NE(watch.OnShown("a", "Failed", "Error"), "") << "for another reason";
  EXPECT_NE(watch.OnShown("a", "Pending", ""), "");
  watch.OnLeft("b");
  EXPECT_NE(watch.AtRest({}), "") << "chosen by a gc that died";
}

class Volumes : public testing::Test {
 protected:
  std::string Wrong() { return WrongSet(files, dir) + LeftInVolume(files, dir); }
  Status Publish(const std::string& a, const std::string& b) {
    return pod_worker::Publish(dir, {{"a", {a}}, {"b", {b}}}, {files, clock.WallNow(), nullptr});
  }
  void SetUp() override {
    ASSERT_TRUE(files.MakeDirs(dir, 0755).ok());
    ASSERT_TRUE(Publish("1", "1").ok());
    ASSERT_EQ(Wrong(), "");
  }
  FakeClock clock;
  fs::FakeFileSystem files{clock};
  const std::string dir = kPodDirs + "uid-1/volumes/kubernetes.io~secret/login";
};

TEST_F(Volumes, AreNamed) {
  EXPECT_EQ(VolumesOf(files, "uid-1"), std::vector<std::string>{"kubernetes.io~secret/login"});
  EXPECT_TRUE(VolumesOf(files, "uid-2").empty());
  EXPECT_EQ(UidOfPath(dir), "uid-1");
  EXPECT_EQ(UidOfPath(kPodDirs + "uid-1"), "uid-1");
  EXPECT_EQ(UidOfPath("/kubelet/x"), "");
}

TEST_F(Volumes, ALocalOneIsBoundToItsOwnDirectory) {
  fs::FakeMounts mounts{files};
  for (const auto& disk : {kLocalDisk, kHostDisk}) ASSERT_TRUE(files.MakeDirs(disk, 0755).ok());
  const std::string path = LocalDiskOf("uid-1");
  EXPECT_EQ(UidOfPath(path), "uid-1");
  EXPECT_FALSE(ShowsObjects("kubernetes.io~local-volume/local"));
  EXPECT_FALSE(IsLocalDiskBound(mounts, "uid-1"));
  ASSERT_TRUE(mounts.BindWithin({.root = kHostDisk, .path = ".", .target = path}).ok());
  EXPECT_FALSE(IsLocalDiskBound(mounts, "uid-1")) << "to that of another volume";
  ASSERT_TRUE(mounts.BindWithin({.root = kLocalDisk, .path = ".", .target = path}).ok());
  EXPECT_TRUE(IsLocalDiskBound(mounts, "uid-1"));
  EXPECT_FALSE(IsLocalDiskBound(mounts, "uid-2"));
  ASSERT_TRUE(mounts.Unmount(path).ok());
  EXPECT_FALSE(IsLocalDiskBound(mounts, "uid-1"));
}

TEST_F(Volumes, OneInMemoryIsMountedAndOfMemory) {
  fs::FakeMounts mounts{files};
  const std::string path = kPodDirs + "uid-1/volumes/kubernetes.io~empty-dir/memory";
  EXPECT_FALSE(ShowsObjects("kubernetes.io~empty-dir/memory"));
  ASSERT_TRUE(files.MakeDirs(path, 0755).ok());
  EXPECT_FALSE(IsInMemory(mounts, "uid-1")) << "a directory on the disk";
  ASSERT_TRUE(mounts.Mount({.type = "hugetlbfs", .path = path, .options = ""}).ok());
  EXPECT_FALSE(IsInMemory(mounts, "uid-1"));
  ASSERT_TRUE(mounts.Unmount(path).ok());
  ASSERT_TRUE(mounts.Mount({.type = "tmpfs", .path = path, .options = ""}).ok());
  EXPECT_TRUE(IsInMemory(mounts, "uid-1"));
  EXPECT_FALSE(IsInMemory(mounts, "uid-2"));
}

TEST_F(Volumes, HalfOfASetIsFound) {
  ASSERT_TRUE(files.Replace(dir + "/..data/b", "2", {}).ok());
  EXPECT_NE(WrongSet(files, dir), "") << "two sets at once";
  ASSERT_TRUE(files.Remove(dir + "/..data/b").ok());
  EXPECT_NE(WrongSet(files, dir), "") << "one is missing";
}

/// After a write for which the disk was too full, readers have the old contents without leftovers;
/// only a kill leaves some.
TEST_F(Volumes, WhatIsLeftOfASetIsFound) {
  int room = 2;
  files.SetHook([&room](std::string_view operation, const std::string&) {
    return operation == "replace" && --room <= 0 ? ErrnoStatus(ENOSPC) : OkStatus();
  });
  EXPECT_FALSE(Publish("2", "2").ok());
  EXPECT_EQ(Wrong(), "");
  files.SetHook(nullptr);
  ASSERT_TRUE(files.MakeDirs(dir + "/..killed", 0755).ok());
  EXPECT_NE(LeftInVolume(files, dir), "");
  ASSERT_TRUE(Publish("2", "2").ok());
  EXPECT_EQ(Wrong(), "");
  ASSERT_TRUE(files.Remove(dir + "/a").ok());
  EXPECT_NE(LeftInVolume(files, dir), "") << "nobody finds it without its link";
}

}  // namespace
}  // namespace splitlet::simulation
