#include "services/pod-worker/volumes/sub_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "k8s.io/api/core/v1/container.pb.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/tests/pods_fixture.h"
#include "tests/harness/child.h"

namespace splitlet::pod_worker {
namespace {

constexpr std::pair<const char*, const char*> kNone{"", ""};

/// A container with one mount of volume "v" for each pair of subPath and subPathExpr.
kube::Container With(const std::vector<std::pair<const char*, const char*>>& mounts) {
  kube::Container container;
  container.set_name("app");
  for (const auto& [path, expression] : mounts) {
    auto& mount = *container.add_volume_mounts();
    mount.set_name("v");
    mount.set_sub_path(path);
    mount.set_sub_path_expr(expression);
  }
  return container;
}

TEST(SubPathsOf, AreExpandedAndStayInTheirVolume) {
  const std::map<std::string, std::string> environment = {
      {"A", "one"}, {"UP", ".."}, {"ROOT", "/etc"}, {"EMPTY", ""}};
  const struct {
    const char *path, *expression, *want, *error;
  } kCases[] = {
      {"a/b", "", "a/b", ""},
      {"$(A)", "", "$(A)", ""},
      {"", "x-$(A)/$(A)", "x-one/one", ""},
      {"", "$$(A)", "$(A)", ""},
      {"", "$(B)/$(A)/$(C)", "", "missing value for B, C"},
      {"", "a$(EMPTY)", "", "missing value for EMPTY"},
      {"/etc", "", "", "error SubPath `/etc` must not be an absolute path"},
      {"", "$(ROOT)", "", "error SubPath `/etc` must not be an absolute path"},
      {"a/../..", "", "", "unable to provision SubPath `a/../..`: must not contain '..'"},
      {"", "$(UP)/x", "", "unable to provision SubPath `../x`: must not contain '..'"},
      {"..a", "", "..a", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {}", c.path, c.expression));
    const auto parts = SubPathsOf(With({kNone, {c.path, c.expression}}), environment);
    EXPECT_EQ(Message(parts.status()), c.error);
    if (!parts.ok()) continue;
    EXPECT_EQ(*parts, (std::vector<SubPath>{{1, "v", c.want}}));
  }
}

class SubPathsTest : public testing::Test {
 protected:
  SubPathsTest() { EXPECT_TRUE(files_.MakeDirs("/vol", 0777).ok()); }
  StatusOr<std::map<int, std::string>> Bind(const kube::Container& container) {
    return sub_paths_.Bind({container, volumes_, {}, pod_dir_});
  }
  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  fs::FakeMounts mounts_{files_};
  FakeLogSink sink_;
  const Log log_{sink_};
  SubPaths sub_paths_{{files_, mounts_, log_}};
  const std::map<std::string, std::string> volumes_ = {{"v", "/vol"}};
  const std::string pod_dir_ = "/pods/uid-web";
};

TEST_F(SubPathsTest, EachHasItsPlaceAndGoesWithThePod) {
  ASSERT_TRUE(files_.Replace("/vol/file", "1", {}).ok());
  const auto bound = Bind(With({{"file", ""}, kNone, {"new/dir", ""}}));
  ASSERT_TRUE(bound.ok()) << bound.status();
  const std::string at = pod_dir_ + "/volume-subpaths/v/app/";
  EXPECT_EQ(*bound, (std::map<int, std::string>{{0, at + "0"}, {2, at + "2"}}));
  EXPECT_EQ(mounts_.mounted().at(at + "0").options, "/vol/file");
  EXPECT_EQ(mounts_.mounted().at(at + "2").options, "/vol/new/dir");
  EXPECT_TRUE(files_.Stat("/vol/new/dir", false).ok());
  ASSERT_TRUE(sub_paths_.Release(pod_dir_).ok());
  EXPECT_TRUE(mounts_.mounted().empty());
  EXPECT_FALSE(files_.Stat(pod_dir_ + "/volume-subpaths", false).ok());
  EXPECT_TRUE(files_.Stat("/vol/file", false).ok());
  EXPECT_TRUE(sub_paths_.Release(pod_dir_).ok()) << "again";
}

TEST_F(SubPathsTest, TheNextContainerSeesWhatIsThereThen) {
  ASSERT_TRUE(files_.Replace("/vol/a", "1", {}).ok());
  ASSERT_TRUE(files_.MakeSymlink("a", "/vol/current").ok());
  ASSERT_TRUE(Bind(With({{"current", ""}})).ok());
  ASSERT_TRUE(files_.Remove("/vol/current").ok());
  ASSERT_TRUE(files_.MakeDirs("/vol/b", 0777).ok());
  ASSERT_TRUE(files_.MakeSymlink("b", "/vol/current").ok());
  const auto bound = Bind(With({{"current", ""}}));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(mounts_.mounted().size(), 1u);
  EXPECT_EQ(mounts_.mounted().at(bound->at(0)).options, "/vol/b");
}

TEST_F(SubPathsTest, ALinkThatLeadsOutIsRefusedWithoutAPathOfTheHost) {
  ASSERT_TRUE(files_.MakeDirs("/etc", 0755).ok());
  ASSERT_TRUE(files_.MakeSymlink("/etc", "/vol/out").ok());
  EXPECT_EQ(Message(Bind(With({{"out", ""}})).status()),
            "failed to prepare subPath for volumeMount \"v\" of container \"app\"");
  EXPECT_TRUE(mounts_.mounted().empty());
  ASSERT_EQ(sink_.lines().size(), 1u);
}

TEST_F(SubPathsTest, WhatCannotBeMadeIsToldApartFromWhatCannotBeBound) {
  const std::string of = " for volumeMount \"v\" of container \"app\"";
  ASSERT_TRUE(files_.Replace("/vol/file", "", {}).ok());
  ASSERT_TRUE(files_.MakeDirs("/etc", 0755).ok());
  // The error does not reveal what is outside.
  ASSERT_TRUE(files_.MakeSymlink("/etc", "/vol/out").ok());
  ASSERT_TRUE(files_.MakeSymlink("/root/none", "/vol/dangling").ok());
  ASSERT_TRUE(files_.MakeSymlink("loop", "/vol/loop").ok());
  const struct {
    const char *path, *want;
    Status no_room, no_mount;
  } kCases[] = {
      {"out", "failed to prepare subPath", OkStatus(), OkStatus()},
      {"dangling", "failed to prepare subPath", OkStatus(), OkStatus()},
      {"dangling/new", "failed to prepare subPath", OkStatus(), OkStatus()},
      {"out/new", "failed to prepare subPath", OkStatus(), OkStatus()},
      {"loop", "failed to prepare subPath", OkStatus(), OkStatus()},
      {"new", "failed to create subPath directory", ErrnoStatus(ENOSPC), OkStatus()},
      {"file", "failed to prepare subPath", OkStatus(), ErrnoStatus(EPERM)},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    mounts_.FailMount(c.no_mount);
    files_.SetHook([&c](std::string_view operation, const std::string& path) {
      return operation.starts_with("make-") && path.starts_with("/vol") ? c.no_room : OkStatus();
    });
    EXPECT_EQ(Message(Bind(With({{c.path, ""}})).status()), c.want + of);
    files_.SetHook(nullptr);
  }
  EXPECT_TRUE(mounts_.mounted().empty());
  files_.SetHook([this](std::string_view operation, const std::string& path) {
    return operation.starts_with("make-") && path.starts_with(pod_dir_) ? ErrnoStatus(ENOSPC)
                                                                        : OkStatus();
  });
  EXPECT_EQ(Message(Bind(With({{"new", ""}})).status()), "failed to prepare subPath" + of)
      << "its own place";
}

TEST_F(SubPathsTest, OneThatIsBusyKeepsThePodFromEnding) {
  ASSERT_TRUE(Bind(With({{"a", ""}, {"b", ""}})).ok());
  mounts_.FailUnmount(ErrnoStatus(EBUSY));
  EXPECT_FALSE(sub_paths_.Release(pod_dir_).ok());
  mounts_.FailUnmount(OkStatus());
  EXPECT_TRUE(sub_paths_.Release(pod_dir_).ok());
  EXPECT_TRUE(mounts_.mounted().empty());
}

TEST_F(SubPathsTest, KilledAnywhereTheNextStartGoesOn) {
  const auto container = With({{"a/b", ""}, {"c", ""}});
  bool killed = true;
  for (int step = 1; killed; ++step) {
    int left = step;
    killed = false;
    files_.SetHook([&](std::string_view, const std::string&) {
      killed = killed || --left == 0;
      return killed ? Cancelled("killed") : OkStatus();
    });
    if (Bind(container).ok()) sub_paths_.Release(pod_dir_).IgnoreError();
    files_.SetHook(nullptr);
    const auto bound = Bind(container);
    ASSERT_TRUE(bound.ok()) << step << ": " << bound.status();
    EXPECT_EQ(mounts_.mounted().size(), 2u) << step;
    ASSERT_TRUE(sub_paths_.Release(pod_dir_).ok()) << step;
    EXPECT_TRUE(mounts_.mounted().empty()) << step;
  }
}

TEST(SubPathsOnDisk, WhatIsBoundIsReleasedAndTheVolumeStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const harness::TempDir dir;
  fs::RealFileSystem files;
  fs::RealMounts mounts;
  FakeLogSink sink;
  const Log log(sink);
  SubPaths sub_paths({files, mounts, log});
  ASSERT_TRUE(files.Replace(dir.path() + "/v/file", "seen", {}).ok());
  const std::map<std::string, std::string> volumes = {{"v", dir.path() + "/v"}};
  const std::string pod_dir = dir.path() + "/pod";
  const auto container = With({{"file", ""}, {"sub", ""}});
  const auto bound = sub_paths.Bind({container, volumes, {}, pod_dir});
  if (bound.status().code() == StatusCode::kPermissionDenied) GTEST_SKIP() << "may not mount here";
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(files.Read(bound->at(0), 10).value_or(""), "seen");
  ASSERT_TRUE(files.Replace(bound->at(1) + "/made", "1", {}).ok());
  EXPECT_TRUE(sub_paths.Bind({container, volumes, {}, pod_dir}).ok()) << "for the next container";
  ASSERT_TRUE(sub_paths.Release(pod_dir).ok());
  EXPECT_TRUE(files.Stat(dir.path() + "/v/sub/made", false).ok());
  EXPECT_FALSE(files.Stat(pod_dir + "/volume-subpaths", false).ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
