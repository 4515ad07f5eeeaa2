#include "services/pod-worker/volumes/pod_volumes.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(Volumes, OnlyThoseOnDisk) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  kube::Pod pod = TestPod{}.Make();
  const auto add = [&pod](const std::string& name) -> auto& {
    auto& volume = *pod.mutable_spec()->add_volumes();
    volume.set_name(name);
    return *volume.mutable_volume_source();
  };
  add("scratch").mutable_empty_dir();
  auto& host = *add("host").mutable_host_path();
  host.set_path("/srv/data");
  host.set_type("DirectoryOrCreate");
  const auto paths = VolumePaths(pod, "/kubelet/pods/uid-web");
  EXPECT_EQ(paths.value(),
            (std::map<std::string, std::string>{
                {"scratch", "/kubelet/pods/uid-web/volumes/kubernetes.io~empty-dir/scratch"},
                {"host", "/srv/data"}}));
  ASSERT_TRUE(EnsureVolumes(pod, "/kubelet/pods/uid-web", files).ok());
  EXPECT_TRUE(files.Stat(paths->at("scratch"), false).ok());
  EXPECT_TRUE(files.Stat("/srv/data", false).ok());
  host.set_type("File");
  EXPECT_EQ(Message(EnsureVolumes(pod, "/kubelet/pods/uid-web", files)),
            "MountVolume.SetUp failed for volume \"host\" : hostPath type check failed: /srv/data "
            "is not a file");
  ASSERT_TRUE(RemoveVolumes("/kubelet/pods/uid-web", files).ok());
  EXPECT_FALSE(files.Stat(paths->at("scratch"), false).ok());
  EXPECT_TRUE(files.Stat("/srv/data", false).ok());
  add("secret").mutable_secret();
  EXPECT_EQ(Message(VolumePaths(pod, "/x").status()), "volume type \"secret\" is not supported");
}

TEST(Volumes, EachKindOfDeviceIsToldApart) {
  fs::RealFileSystem files;
  kube::Pod pod = TestPod{}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("v");
  auto& host = *volume.mutable_volume_source()->mutable_host_path();
  host.set_path("/dev/null");
  const std::string dir = testing::TempDir() + "/volumes-of-devices";
  for (const std::string type : {"CharDevice", "BlockDevice", "Socket", "File"}) {
    host.set_type(type);
    EXPECT_EQ(EnsureVolumes(pod, dir, files).ok(), type == "CharDevice") << type;
  }
  ASSERT_TRUE(files.RemoveTree(dir).ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
