// Directories of pods below the kubelet's root directory, with real processes and files.

#include <filesystem>

#include "libs/base/processes.h"
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

/// As a version left them that had the directories in the place of the marks.
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

}  // namespace
}  // namespace splitlet::integration
