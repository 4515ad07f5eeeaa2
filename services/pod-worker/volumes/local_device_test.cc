#include "services/pod-worker/volumes/local_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "libs/base/fail_point.h"
#include "libs/fs/path.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/volumes/volumes_fixture.h"
#include "tests/harness/child.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Remembers the binds, and makes their targets.
class BoundFiles final : public fs::Mounts {
 public:
  explicit BoundFiles(fs::FileSystem& files) : files_(files) {}
  StatusOr<bool> IsMountPoint(const std::string& path) override { return bound.contains(path); }
  Status Mount(const fs::MountRequest&) override { return Unimplemented("no file systems"); }
  Status MakeWithin(const std::string&, const std::string&) override {
    return Unimplemented("nothing is made");
  }
  Status BindWithin(const fs::BindRequest& request) override {
    bound[request.target] = request.root + request.path;
    return files_.Replace(request.target, "", {});
  }
  Status Unmount(const std::string& path) override {
    if (busy) return ErrnoStatus(EBUSY);
    bound.erase(path);
    return OkStatus();
  }
  std::map<std::string, std::string> bound;
  bool busy = false;

 private:
  fs::FileSystem& files_;
};

class LocalDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::mknod(device_.c_str(), S_IFBLK | 0600, makedev(7, 250)) != 0)
      GTEST_SKIP() << "making a device is root's";
  }
  ~LocalDeviceTest() override { FailPoints::SetCurrent(nullptr); }
  VolumePlace PlaceOf(const std::string& uid) const {
    return {.path = "",
            .device = dir_ / ("pods/" + uid + "/volumeDevices/kubernetes.io~local-volume/disk"),
            .plugins_dir = dir_ / "plugins",
            .pod_uid = uid};
  }
  SetUpResult Map(const std::string& uid, const std::string& device) {
    return mapper_.Map(BehindClaim("local: {path: " + device + "}, volumeMode: Block", claimed_),
                       PlaceOf(uid));
  }
  Status Unmap(const std::string& uid) { return mapper_.Unmap(PlaceOf(uid)).status(); }
  std::string LinkOf(const std::string& uid) {
    return files_.ReadSymlink(PlaceOf(uid).device).value_or("");
  }

  const harness::TempDir dir_;
  const std::string device_ = dir_ / "device";
  const std::string shared_ = dir_ / "plugins/kubernetes.io~local-volume/volumeDevices/disk";
  const kube::Volume claimed_ = ClaimOf();
  fs::RealFileSystem files_;
  BoundFiles mounts_{files_};
  LocalDevice mapper_{{files_, mounts_, "kubernetes.io~local-volume"}};
};

TEST_F(LocalDeviceTest, EachPodHasALinkAndAFileOfItsOwn) {
  for (const char* uid : {"a", "b"}) {
    ASSERT_TRUE(Map(uid, device_).ok());
    ASSERT_TRUE(Map(uid, device_).ok()) << "again";
    EXPECT_EQ(LinkOf(uid), device_);
  }
  EXPECT_THAT(mounts_.bound, ElementsAre(Pair(shared_ + "/a", "/" + device_),
                                         Pair(shared_ + "/b", "/" + device_)));
  ASSERT_TRUE(Unmap("a").ok());
  EXPECT_EQ(LinkOf("a"), "");
  EXPECT_EQ(LinkOf("b"), device_);
  EXPECT_THAT(mounts_.bound, ElementsAre(Pair(shared_ + "/b", "/" + device_)));
  ASSERT_TRUE(Unmap("b").ok());
  EXPECT_THAT(mounts_.bound, IsEmpty());
  EXPECT_FALSE(files_.Stat(shared_, false).ok()) << "it goes with the last";
  EXPECT_TRUE(Unmap("b").ok()) << "again";
  EXPECT_TRUE(files_.Stat(device_, false).ok());
}

TEST_F(LocalDeviceTest, WhatIsNoDeviceIsRefused) {
  const struct {
    std::string device, want;
  } kCases[] = {
      {dir_.path(), dir_.path() + " is not a block device"},
      {"/dev/null", "/dev/null is not a block device"},
      {"/dev/../dev/x", "invalid path: /dev/../dev/x must not contain '..'"},
      {dir_ / "none", dir_ / "none: No such file or directory"},
  };
  for (const auto& c : kCases) {
    const SetUpResult made = Map("a", c.device);
    EXPECT_EQ(Message(made.status()), c.want);
    EXPECT_EQ(made.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(made.step(), VolumeStep::kSetUpDevice);
  }
  EXPECT_THAT(mounts_.bound, IsEmpty());
  EXPECT_EQ(LinkOf("a"), "");
}

TEST_F(LocalDeviceTest, AnotherDeviceTakesThePlaceOfTheFormer) {
  ASSERT_TRUE(Map("a", device_).ok());
  const std::string other = dir_ / "other";
  ASSERT_EQ(::mknod(other.c_str(), S_IFBLK | 0600, makedev(7, 251)), 0);
  ASSERT_TRUE(Map("a", other).ok());
  EXPECT_EQ(LinkOf("a"), other);
}

TEST_F(LocalDeviceTest, OneThatIsBusyKeepsItsLink) {
  ASSERT_TRUE(Map("a", device_).ok());
  mounts_.busy = true;
  EXPECT_FALSE(Unmap("a").ok());
  EXPECT_EQ(LinkOf("a"), device_) << "so that it is found again";
  mounts_.busy = false;
  EXPECT_TRUE(Unmap("a").ok());
}

TEST_F(LocalDeviceTest, KilledAnywhereTheNextStartGoesOn) {
  for (const char* point : {"pod-worker.map-device.before", "pod-worker.map-device.linked",
                            "pod-worker.map-device.after", "pod-worker.unmap-device.before",
                            "pod-worker.unmap-device.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({[] {}, [](int64_t) {}});
    FailPoints::SetCurrent(&points);
    ASSERT_TRUE(points.Set(point, "1*return(aborted)->off").ok());
    const bool made = Map("a", device_).ok();
    EXPECT_TRUE(mounts_.bound.empty() || LinkOf("a") == device_) << "the link says where to look";
    if (!made) {
      ASSERT_TRUE(Map("a", device_).ok());
    }
    const bool gone = Unmap("a").ok();
    EXPECT_NE(made, gone) << "the point was passed once";
    EXPECT_TRUE(Unmap("a").ok());
    EXPECT_THAT(mounts_.bound, IsEmpty());
    EXPECT_EQ(LinkOf("a"), "");
    FailPoints::SetCurrent(nullptr);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
