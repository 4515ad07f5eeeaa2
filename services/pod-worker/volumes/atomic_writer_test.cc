#include "services/pod-worker/volumes/atomic_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

constexpr WallTime kNow{std::chrono::seconds{1'700'000'000} + std::chrono::nanoseconds{5}};

class AtomicWriter : public testing::Test {
 protected:
  AtomicWriter() { EXPECT_TRUE(files_.MakeDirs("/v", 0777).ok()); }
  Status Write(const Payload& payload, WallTime now = kNow) {
    return Publish("/v", payload, {files_, now});
  }
  std::string Read(const std::string& path) { return files_.Read("/v/" + path, 1000).value_or(""); }
  std::set<std::string> Names() {
    std::set<std::string> names;
    const auto entries = files_.List("/v");
    for (const auto& entry : *entries) names.insert(entry.name);
    return names;
  }
  using Hook = std::function<Status(std::string_view operation, const std::string& path)>;
  /// Replaces one set by another under the hook. Checks what readers see, and that the next try
  /// succeeds and leaves nothing of the failed one.
  Status Replace(const Hook& hook) {
    const Payload first = {{"a", {"1", 0644}}, {"b", {"1", 0644}}};
    const Payload second = {{"a", {"2", 0644}}, {"c", {"2", 0644}}};
    fs::FakeFileSystem files(clock_);
    EXPECT_TRUE(files.MakeDirs("/v", 0777).ok());
    EXPECT_TRUE(Publish("/v", first, {files, kNow}).ok());
    files.SetHook(hook);
    const Status done = Publish("/v", second, {files, kNow});
    files.SetHook(nullptr);
    const std::string a = files.Read("/v/a", 10).value_or("none");
    const std::string b = files.Read("/v/..data/b", 10).value_or("none");
    EXPECT_TRUE((a == "1" && b == "1") || (a == "2" && b == "none")) << a << b;
    left_ = a == "1" ? files.List("/v")->size() : 0;
    EXPECT_TRUE(Publish("/v", second, {files, kNow}).ok());
    EXPECT_EQ(files.List("/v")->size(), 4u) << "a set, ..data, a, c";
    EXPECT_EQ(files.Read("/v/c", 10).value_or(""), "2");
    return done;
  }
  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  size_t left_ = 0;  // entries after the first try of Replace, while readers see the old set
};

TEST_F(AtomicWriter, AChangeIsSeenWholeAndTheLinksStay) {
  ASSERT_TRUE(Write({{"a", {"1", 0644}}, {"dir/b", {"2", 0600}}, {"gone", {"3", 0644}}}).ok());
  EXPECT_EQ(Names(), (std::set<std::string>{"..2023_11_14_22_13_20.000000005", "..data", "a", "dir",
                                            "gone"}));
  EXPECT_EQ(Read("dir/b"), "2");
  const uint64_t inode = files_.Stat("/v/a", false)->inode;
  ASSERT_TRUE(Write({{"a", {"new", 0644}}, {"dir/b", {"2", 0600}}}).ok());
  EXPECT_EQ(Read("a"), "new");
  EXPECT_EQ(files_.Stat("/v/a", false)->inode, inode) << "the link is the same";
  EXPECT_EQ(Names(),
            (std::set<std::string>{"..2023_11_14_22_13_20.000000006", "..data", "a", "dir"}))
      << "the old set is gone, and the link of what is no more";
  ASSERT_TRUE(Write({}).ok());
  EXPECT_EQ(Names().size(), 2u);
}

TEST_F(AtomicWriter, EqualContentIsNoChange) {
  ASSERT_TRUE(Write({{"a", {"1", 0644}}}).ok());
  const auto before = Names();
  ASSERT_TRUE(Write({{"a", {"1", 0400}}}, kNow + 1s).ok()) << "another mode only";
  EXPECT_EQ(Names(), before);
  ASSERT_TRUE(files_.Remove("/v/a").ok());
  ASSERT_TRUE(Write({{"a", {"1", 0644}}}, kNow + 1s).ok());
  EXPECT_EQ(Read("a"), "1") << "a lost link is made again";
  EXPECT_EQ(Names(), before);
}

TEST_F(AtomicWriter, PathsThatLeadOutAreRefused) {
  const struct {
    std::string path, error;
  } kCases[] = {
      {"../x", "invalid path: must not contain '..': \"../x\""},
      {"a/../../x", "invalid path: must not contain '..': \"a/../../x\""},
      {"..", "invalid path: must not contain '..': \"..\""},
      {"..data", "invalid path: must not start with '..': \"..data\""},
      {"/etc/x", "invalid path: must be a relative path: \"/etc/x\""},
      {"", "invalid path: must be a relative path: \"\""},
      {"a//b", "invalid path: must have a name at each step: \"a//b\""},
      {"a/", "invalid path: must have a name at each step: \"a/\""},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Message(Write({{"ok", {"1", 0644}}, {test.path, {"x", 0644}}})), test.error);
    EXPECT_TRUE(Names().empty()) << test.path << ": nothing is written";
  }
  EXPECT_FALSE(Write({{std::string(256, 'n'), {"x", 0644}}}).ok());
  EXPECT_FALSE(Write({{std::string(4097, 'n'), {"x", 0644}}}).ok());
}

TEST_F(AtomicWriter, KilledAnywhereItGoesOnAndLeavesNothing) {
  bool killed = true;
  for (int step = 1; killed; ++step) {
    SCOPED_TRACE(step);
    int left = step;
    killed = false;
    const Status done = Replace([&](std::string_view, const std::string&) {
      killed = killed || --left == 0;
      return killed ? Cancelled("killed") : OkStatus();
    });
    EXPECT_EQ(done.ok(), !killed);
  }
}

TEST_F(AtomicWriter, ADiskThatIsFullAtAnyStepLeavesTheOldSetWhole) {
  int failed = 0, kept = 0;
  bool full = true;
  for (int step = 1; full; ++step) {
    SCOPED_TRACE(step);
    int left = step;
    full = false;
    const Status done = Replace([&](std::string_view operation, const std::string&) {
      const bool takes_room = operation == "replace" || operation.starts_with("make-");
      if (!takes_room || --left > 0) return OkStatus();
      full = true;  // from here on
      return ErrnoStatus(ENOSPC);
    });
    if (done.ok()) continue;
    ++failed;
    if (left_ == 0) continue;
    ++kept;
    EXPECT_EQ(left_, 4u) << "the old set, ..data, a, b; not what failed";
  }
  EXPECT_GE(failed, 5);
  EXPECT_GE(kept, 4);
}

/// Otherwise each try on a full disk would take more of the disk.
TEST_F(AtomicWriter, WhatKilledTriesHaveLeftGoesBeforeTheNextOneWrites) {
  ASSERT_TRUE(Write({{"a", {"1", 0644}}}).ok());
  for (const char* left : {"/v/..2023_11_14_22_13_20.000000006/a", "/v/..2023_11_14_22_13_21.1/x/y",
                           "/v/..file_tmp", "/v/...file_tmp.new"})
    ASSERT_TRUE(files_.Replace(left, "left", {}).ok());
  std::set<std::string> seen;
  files_.SetHook([&](std::string_view operation, const std::string&) -> Status {
    if (operation != "replace") return OkStatus();
    files_.SetHook(nullptr);
    seen = Names();
    return ErrnoStatus(ENOSPC);
  });
  EXPECT_FALSE(Write({{"a", {"2", 0644}}}).ok());
  EXPECT_EQ(seen, (std::set<std::string>{"..2023_11_14_22_13_20.000000005",
                                         "..2023_11_14_22_13_20.000000006", "..data", "a"}))
      << "what readers see, and the new set";
  EXPECT_EQ(Names(), (std::set<std::string>{"..2023_11_14_22_13_20.000000005", "..data", "a"}));
  EXPECT_EQ(Read("a"), "1");
}

/// A disk error or a mount in an old set must not keep readers from the new set.
TEST_F(AtomicWriter, WhatCannotBeRemovedIsToldAndHoldsUpNoChange) {
  ASSERT_TRUE(Write({{"a", {"1", 0644}}}).ok());
  const std::string stuck = "/v/..2000_01_01_00_00_00.1", other = "/v/..2000_01_01_00_00_01.1";
  for (const auto& left : {stuck, other}) ASSERT_TRUE(files_.Replace(left + "/x", "left", {}).ok());
  files_.Fail(stuck, ErrnoStatus(EIO));
  for (const char* content : {"2", "3"}) {
    const Status failed = Write({{"a", {content, 0644}}});
    EXPECT_EQ(failed.code(), StatusCode::kDataLoss);
    EXPECT_NE(Message(failed).find("..2000_01_01_00_00_00.1"), std::string::npos) << failed;
    EXPECT_EQ(Read("a"), content);
    EXPECT_EQ(Names().size(), 4u) << "a, ..data, the set, and what is stuck";
  }
  EXPECT_FALSE(files_.Stat(other, false).ok()) << "the others go";
  files_.Fail(stuck, OkStatus());
  EXPECT_TRUE(Write({{"a", {"3", 0644}}}).ok());
  EXPECT_EQ(Names().size(), 3u);
}

TEST(AtomicWriterOnDisk, ModesAreExactAndNamesAsLongAsTheyMayBe) {
  fs::RealFileSystem files;
  const std::string dir = testing::TempDir() + "/atomic-" + std::to_string(::getpid());
  ASSERT_TRUE(files.MakeDirs(dir, 0755).ok());
  const mode_t umask_before = ::umask(077);
  const std::string longest(253, 'k');
  const Payload payload = {
      {"x/y", {"1", 0444}}, {".a.new", {"2", 0644}}, {"a", {"3", 0640}}, {longest, {"4", 0400}}};
  const Status published = Publish(dir, payload, {files, kNow});
  ::umask(umask_before);
  ASSERT_TRUE(published.ok()) << published;
  for (const auto& [path, file] : payload) {
    EXPECT_EQ(files.Read(dir + "/" + path, 10).value_or(""), file.content) << path;
    struct stat info {};
    ASSERT_EQ(::stat((dir + "/" + path).c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 07777, file.mode) << path;
  }
  struct stat info {};
  ASSERT_EQ(::stat((dir + "/x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  ASSERT_TRUE(files.RemoveTree(dir).ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
