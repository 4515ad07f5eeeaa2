#include "services/pod-worker/volumes/nfs.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/mount_table.h"
#include "libs/process/fake_programs.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A host with mount(8) and umount(8), and a server that may not answer.
class NfsHost {
 public:
  explicit NfsHost(fs::FileSystem& files) : files_(files) { ShowMounts(); }

  StatusOr<std::string> Run(const process::Program& program) {
    calls.push_back(fmt::format("{}", fmt::join(program.argv, " ")));
    EXPECT_GT(program.limit, Duration{0});
    const std::string& path = program.argv.back();
    if (program.argv[0] == "mount") {
      if (!mount_error.ok()) return mount_error;
      mounted.push_back(path);
    } else {
      if (silent && program.argv[1] == path) return DeadlineExceeded("after 60s");
      if (stubborn && program.argv[1] == "-f") return DeadlineExceeded("after 60s");
      if (busy) return Unavailable("exit code 32: target is busy");
      std::erase(mounted, path);
    }
    ShowMounts();
    return std::string();
  }
  void ShowMounts() {
    std::string table = "21 1 0:20 / /proc rw - proc proc rw\n";
    for (const auto& path : mounted)
      table += fmt::format("40 1 0:40 / {} rw - nfs4 s:/ rw\n", path);
    ASSERT_TRUE(files_.Replace(fs::kMountTable, table, {}).ok());
  }

  std::vector<std::string> calls, mounted;
  Status mount_error;
  bool silent = false, stubborn = false, busy = false;

 private:
  fs::FileSystem& files_;
};

class Nfs : public testing::Test {
 protected:
  ~Nfs() override { FailPoints::SetCurrent(nullptr); }
  Status SetUpOne(const std::string& source) {
    pod_ = PodWithVolumes("[{name: v, nfs: " + source + "}]", {"v"});
    return SetUpAgain().status();
  }
  StatusOr<Progress> SetUpAgain() {
    return plugin_.SetUp({pod_.spec().volumes(0)}, {pod_, nullptr, true}, place_);
  }
  Status TakeDown() { return plugin_.TearDown(place_).status(); }
  /// The command lines of the running programs.
  std::vector<std::string> Running() const {
    std::vector<std::string> words;
    for (const auto& [key, program] : programs_.running())
      words.push_back(fmt::format("{}: {}", key.owner, fmt::join(program.argv, " ")));
    return words;
  }
  bool IsThere() { return files_.Stat(path_, false).ok(); }

  const std::string folder_ = "/kubelet/pods/uid-web/volumes/kubernetes.io~nfs";
  const std::string path_ = folder_ + "/v";
  const VolumePlace place_{.path = path_, .pod_uid = "uid-web"};
  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  NfsHost host_{files_};
  process::FakePrograms programs_{[this](const auto& program) { return host_.Run(program); }};
  NfsVolume plugin_{{files_, &programs_}};
  kube::Pod pod_;
};

TEST_F(Nfs, IsMountedOnceByTheHelperOfTheHostAndUnmountedWithThePod) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /export}").ok());
  ASSERT_TRUE(SetUpOne("{server: s, path: /export}").ok()) << "again";
  EXPECT_THAT(host_.calls, ElementsAre("mount -t nfs -- s:/export " + path_));
  ASSERT_TRUE(TakeDown().ok());
  EXPECT_THAT(host_.mounted, IsEmpty());
  EXPECT_FALSE(IsThere());
  EXPECT_TRUE(TakeDown().ok()) << "again";
  EXPECT_EQ(host_.calls.size(), 2u);
}

TEST_F(Nfs, OptionsOfThePersistentVolumeAndReadOnly) {
  const struct {
    std::string spec;
    bool claim_read_only;
    std::string want;
  } kCases[] = {
      {"nfs: {server: s, path: /e}", false, ""},
      {"nfs: {server: s, path: /e}, mountOptions: [nfsvers=4.1, hard]", false,
       "-o nfsvers=4.1,hard "},
      {"nfs: {server: s, path: /e, readOnly: true}, mountOptions: [hard]", false, "-o hard,ro "},
      {"nfs: {server: s, path: /e}", true, "-o ro "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    host_.calls.clear();
    const auto claimed = ClaimOf(c.claim_read_only);
    const auto spec = BehindClaim(c.spec, claimed);
    ASSERT_TRUE(plugin_.Takes(spec));
    ASSERT_TRUE(plugin_.SetUp(spec, {pod_, nullptr, true}, place_).ok());
    EXPECT_THAT(host_.calls, ElementsAre("mount -t nfs " + c.want + "-- s:/e " + path_));
    ASSERT_TRUE(TakeDown().ok());
  }
}

TEST_F(Nfs, AServerIsNoOption) {
  ASSERT_TRUE(SetUpOne("{server: '-oexec', path: /e}").ok());
  EXPECT_THAT(host_.calls, ElementsAre("mount -t nfs -- -oexec:/e " + path_));
}

TEST_F(Nfs, WhatCannotBeMountedIsToldAndLeavesNothing) {
  host_.mount_error = Unavailable("exit code 32: mount.nfs: access denied by server");
  EXPECT_EQ(Message(SetUpOne("{server: s, path: /e}")),
            "mount failed: exit code 32: mount.nfs: access denied by server");
  EXPECT_FALSE(IsThere()) << "nothing writes into the unmounted directory";
  host_.mount_error = OkStatus();
  EXPECT_TRUE(SetUpOne("{server: s, path: /e}").ok());
}

TEST_F(Nfs, AServerThatDoesNotAnswerIsLeftByForce) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
  host_.silent = true;
  // A read of the mount would hang.
  files_.Fail(path_, DeadlineExceeded("it hangs"));
  EXPECT_EQ(plugin_.Release({.path = folder_}).value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_EQ(host_.calls.back(), "umount -f " + path_);
  EXPECT_THAT(host_.mounted, IsEmpty());
}

TEST_F(Nfs, OneThatNoForceUnmountsIsTakenOutOfSight) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
  host_.silent = host_.stubborn = true;
  EXPECT_EQ(plugin_.Release({.path = folder_}).value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_THAT(host_.calls, ElementsAre(HasSubstr("mount -t"), "umount " + path_,
                                       "umount -f " + path_, "umount -l " + path_));
}

TEST_F(Nfs, NothingWaitsForAServer) {
  programs_.Hold(true);
  pod_ = PodWithVolumes("[{name: v, nfs: {server: s, path: /e}}]", {"v"});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(SetUpAgain().value_or(Progress::kDone), Progress::kUnderWay);
  EXPECT_THAT(Running(), ElementsAre("uid-web: mount -t nfs -- s:/e " + path_)) << "one";
  programs_.EndAll();
  EXPECT_EQ(SetUpAgain().value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_EQ(SetUpAgain().value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_EQ(host_.calls.size(), 1u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kDone), Progress::kUnderWay);
  EXPECT_THAT(Running(), ElementsAre("uid-web: umount " + path_));
  host_.silent = true;
  programs_.EndAll();
  EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kDone), Progress::kUnderWay);
  EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kDone), Progress::kUnderWay);
  EXPECT_THAT(Running(), ElementsAre("uid-web: umount -f " + path_)) << "by force now";
  programs_.EndAll();
  EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_THAT(host_.mounted, IsEmpty());
  EXPECT_FALSE(IsThere());
  for (const char* flag : {"", "-f"})
    EXPECT_FALSE(programs_.Knows({"uid-web", fmt::format("umount {} {}", flag, path_)}))
        << "nothing is remembered of it";
}

TEST_F(Nfs, AMountThatIsUnderWayEndsWithThePod) {
  programs_.Hold(true);
  pod_ = PodWithVolumes("[{name: v, nfs: {server: s, path: /e}}]", {"v"});
  ASSERT_TRUE(SetUpAgain().ok());
  programs_.Hang(true);
  EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kDone), Progress::kUnderWay)
      << "it may mount until it is gone";
  EXPECT_TRUE(IsThere());
  host_.mounted = {path_};
  host_.ShowMounts();
  programs_.EndAll();
  programs_.Hold(false);
  EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_THAT(host_.mounted, IsEmpty()) << "and has";
  EXPECT_FALSE(IsThere());
}

/// The pod came back before the unmount ended.
TEST_F(Nfs, AnUnmountThatIsUnderWayEndsBeforeThePodIsSetUp) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
  programs_.Hold(true);
  EXPECT_EQ(plugin_.TearDown(place_).value_or(Progress::kDone), Progress::kUnderWay);
  programs_.Hang(true);
  EXPECT_EQ(SetUpAgain().value_or(Progress::kDone), Progress::kUnderWay)
      << "it may unmount until it is gone";
  EXPECT_EQ(SetUpAgain().value_or(Progress::kDone), Progress::kUnderWay);
  programs_.EndAll();
  programs_.Hold(false);
  EXPECT_EQ(SetUpAgain().value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_THAT(host_.mounted, ElementsAre(path_));
  EXPECT_TRUE(TakeDown().ok()) << "what the first one gave is no answer to this";
  EXPECT_THAT(host_.mounted, IsEmpty());
  EXPECT_FALSE(IsThere());
}

/// Only the kernel knows the outcome.
TEST_F(Nfs, AMountOfAnEarlierProcessIsWaitedFor) {
  for (const bool mounts : {true, false}) {
    SCOPED_TRACE(mounts);
    host_.calls.clear();
    programs_.Hold(true);
    pod_ = PodWithVolumes("[{name: v, nfs: {server: s, path: /e}}]", {"v"});
    ASSERT_EQ(SetUpAgain().value_or(Progress::kDone), Progress::kUnderWay);
    host_.mount_error = Aborted("it was begun by an earlier process, and has ended");
    programs_.EndAll();
    host_.mount_error = OkStatus();
    if (mounts) host_.mounted = {path_};
    host_.ShowMounts();
    programs_.Hold(false);
    EXPECT_EQ(SetUpAgain().value_or(Progress::kUnderWay), Progress::kDone);
    EXPECT_EQ(host_.calls.size(), mounts ? 1u : 2u) << "mounted again where it was not";
    EXPECT_THAT(host_.mounted, ElementsAre(path_));
    ASSERT_TRUE(TakeDown().ok());
  }
}

TEST_F(Nfs, OneThatIsBusyStays) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
  host_.busy = true;
  EXPECT_THAT(Message(TakeDown()), HasSubstr("target is busy"));
  EXPECT_TRUE(IsThere());
  host_.busy = false;
  EXPECT_TRUE(TakeDown().ok());
}

TEST_F(Nfs, WhatAHelperOfBeforeMountedTooIsUnmounted) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
  host_.mounted = {path_, path_ + "/below"};
  host_.ShowMounts();
  ASSERT_TRUE(TakeDown().ok());
  EXPECT_THAT(host_.calls,
              ElementsAre(HasSubstr("mount"), "umount " + path_ + "/below", "umount " + path_));
}

TEST_F(Nfs, KilledAnywhereTheNextStartGoesOn) {
  for (const char* point : {"pod-worker.mount-nfs.before", "pod-worker.mount-nfs.after",
                            "pod-worker.unmount-nfs.before", "pod-worker.unmount-nfs.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({[] {}, [](int64_t) {}});
    FailPoints::SetCurrent(&points);
    ASSERT_TRUE(points.Set(point, "1*return(aborted)->off").ok());
    const bool made = SetUpOne("{server: s, path: /e}").ok();
    if (!made) {
      ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
    }
    const bool gone = TakeDown().ok();
    EXPECT_NE(made, gone) << "the point was passed once";
    EXPECT_TRUE(TakeDown().ok());
    EXPECT_THAT(host_.mounted, IsEmpty());
    EXPECT_FALSE(IsThere());
    FailPoints::SetCurrent(nullptr);
  }
}

TEST_F(Nfs, WithoutProgramsItIsNoKindOfThisNode) {
  ASSERT_TRUE(SetUpOne("{server: s, path: /e}").ok());
  const VolumeSpec spec{pod_.spec().volumes(0)};
  EXPECT_FALSE(NfsVolume({files_, nullptr}).Takes(spec));
  EXPECT_TRUE(plugin_.Takes(spec));
}

}  // namespace
}  // namespace splitlet::pod_worker
