// Directories of pods below the kubelet's root directory, with real processes and files.

#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "libs/base/processes.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kScratch = "/volumes/kubernetes.io~empty-dir/scratch";
constexpr const char* kVolume = "  volumes: [{name: scratch, emptyDir: {}}]\n";

class RootDirectory : public IntegrationTest {
 protected:
  std::string Below(const std::string& uid) { return node_->dir() + "/kubelet/pods/" + uid; }
  std::string MarkOf(const std::string& uid) { return node_->dir() + "/state/pods/" + uid; }
  std::string UidOf(const std::string& name) {
    const auto pod = node_->Pod(name);
    return pod == nullptr ? "" : pod->uid;
  }
  void Put(const std::string& path) {
    stdfs::create_directories(stdfs::path(path).parent_path());
    harness::WriteFile(path, "x");
  }
  void RunPod(const std::string& name) {
    node_->PutManifest(name + ".yaml",
                       PodYaml(name, "sleep 1000", kVolume) +
                           "    volumeMounts: [{name: scratch, mountPath: /scratch}]\n");
    ExpectRunning(name);
  }
  bool IsGoneFromDisk(const std::string& path) {
    return WaitFor(kSoon, [&] { return node_->RunGc(false).ok() && !stdfs::exists(path); });
  }
};

/// The layout of an older version, with directories in place of the marks.
TEST_F(RootDirectory, PodsOfBeforeKeepTheirPlaceAndTheirContainers) {
  StartNode();
  RunPod("old");
  const std::string old = UidOf("old");
  const auto before = view_->RunningOf("old").at(0).id;
  for (const char* process : {"pod-worker", "gc"}) node_->StopProcess(process);
  stdfs::remove_all(MarkOf(old));
  stdfs::rename(Below(old), MarkOf(old));
  Put(MarkOf(old) + kScratch + "/kept");
  for (const char* process : {"pod-worker", "gc"}) node_->StartProcess(process);
  RunPod("new");
  const std::string fresh = UidOf("new");
  EXPECT_TRUE(stdfs::exists(Below(fresh) + kScratch));
  EXPECT_EQ(harness::ReadFile(MarkOf(fresh) + "/root"), Below(fresh) + "\nfile");
  ASSERT_TRUE(node_->RunGc(false).ok());
  EXPECT_EQ(view_->RunningOf("old").at(0).id, before);
  EXPECT_EQ(RestartsOf("old"), 0);
  EXPECT_TRUE(stdfs::exists(MarkOf(old) + kScratch + "/kept"));
  EXPECT_FALSE(stdfs::exists(Below(old)));
  for (const char* name : {"old", "new"}) {
    node_->RemoveManifest(std::string(name) + ".yaml");
    ExpectGone(name);
  }
  for (const auto& path : {MarkOf(old), MarkOf(fresh), Below(fresh)})
    EXPECT_TRUE(IsGoneFromDisk(path)) << path;
}

TEST_F(RootDirectory, WhatSomebodyElseHasThereIsNeverTouched) {
  StartNode();
  const std::string theirs = Below("11111111-2222-3333-4444-555555555555");
  Put(theirs + "/etc-hosts");
  Put(theirs + kScratch + "/data");
  Put(Below(".removing-66666666") + "/data");
  RunPod("web");
  const std::string uid = UidOf("web");
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_TRUE(IsGoneFromDisk(Below(uid)));
  EXPECT_TRUE(IsGoneFromDisk(MarkOf(uid)));
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(node_->RunGc(false).ok());
  EXPECT_TRUE(stdfs::exists(theirs + "/etc-hosts"));
  EXPECT_TRUE(stdfs::exists(theirs + kScratch + "/data"));
  EXPECT_TRUE(stdfs::exists(Below(".removing-66666666") + "/data"));
}

/// An unwanted pod that a kubelet has left.
TEST_F(RootDirectory, OfAForeignPodThatIsEndedVolumesOfKnownKindsGoToo) {
  StartNode({.runtime_endpoint = {},
             .config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                       "fileCheckFrequency: 2s\nsyncFrequency: 2s\n"
                       "splitlet: {killUnmanagedPods: true}\n"});
  const std::string uid = "11111111-2222-3333-4444-555555555555";
  const std::string theirs = Below(uid), secret = theirs + "/volumes/kubernetes.io~secret/login";
  const std::string unknown = theirs + "/volumes/kubernetes.io~csi/disk/vol_data.json";
  Put(theirs + kScratch + "/data");
  Put(unknown);
  stdfs::create_directories(secret);
  if (::geteuid() == 0) {
    ASSERT_EQ(::mount("tmpfs", secret.c_str(), "tmpfs", 0, "size=64k"), 0);
  }
  ASSERT_TRUE(fake_cri::Control(control_).AddUnmanagedPod("other", uid).ok());
  EXPECT_TRUE(WaitFor(kSoon, [&] { return !stdfs::exists(secret); }));
  EXPECT_TRUE(view_->RunningOf("other").empty());
  EXPECT_FALSE(stdfs::exists(theirs + kScratch));
  ASSERT_TRUE(node_->RunGc(false).ok());
  EXPECT_TRUE(stdfs::exists(unknown)) << "its driver has not been told";
  stdfs::remove_all(theirs + "/volumes");
  EXPECT_TRUE(IsGoneFromDisk(theirs));
}

/// One of our pods that ended, and whose records were lost before a process read them.
TEST_F(RootDirectory, VolumesThatNobodyTookDownGoWithTheDirectory) {
  StartNode();
  const std::string uid = "11111111-2222-3333-4444-555555555555",
                    other = "22222222" + uid.substr(8);
  for (const auto& pod : {uid, other}) {
    const std::string secret = Below(pod) + "/volumes/kubernetes.io~secret/login";
    stdfs::create_directories(secret);
    if (::geteuid() == 0) {
      ASSERT_EQ(::mount("tmpfs", secret.c_str(), "tmpfs", 0, "size=64k"), 0);
    }
    Put(secret + "/password");
  }
  stdfs::create_directories(MarkOf(uid));
  harness::WriteFile(MarkOf(uid) + "/root", Below(uid));
  EXPECT_TRUE(IsGoneFromDisk(Below(uid)));
  EXPECT_TRUE(IsGoneFromDisk(MarkOf(uid)));
  const std::string theirs = Below(other) + "/volumes/kubernetes.io~secret/login";
  EXPECT_TRUE(stdfs::exists(theirs + "/password")) << "nothing says that it is ours";
  if (::geteuid() == 0) {
    EXPECT_EQ(::umount(theirs.c_str()), 0);
  }
}

}  // namespace
}  // namespace splitlet::integration
