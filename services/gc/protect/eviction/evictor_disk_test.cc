#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/gc/protect/eviction/eviction_fixture.h"

namespace splitlet::gc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(Eviction, WhatNobodyUsesGoesBeforeAnyPod) {
  Add({.uid = "a"});
  node.runtime.AddImage("unused");
  node.config.image_min_age = 0s;
  node.config.sandbox_image = "pause";
  on_call = [this](std::string_view method) {
    if (method == "RemoveImage") node.files.SetUsage("/kubelet", {100, 60, 100, 50});
  };
  Start();
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(20s);
  EXPECT_EQ(calls["RemoveImage"], 1);
  EXPECT_GE(CountEvents("EvictionThresholdMet"), 1);
  EXPECT_TRUE(HasCondition("DiskPressure"));
  EXPECT_THAT(Killed(), IsEmpty());
}

TEST_F(Eviction, SoDoesWhatFinishedPodsLeftInTheRuntime) {
  Add({.uid = "runs"});
  AddFinished("done");
  const std::string logs = node.config.pod_logs_dir + "/default_done_done";
  ASSERT_TRUE(node.files.Replace(logs + "/app/0.log", "x", {}).ok());
  node.config.sandbox_image = "pause";
  on_call = [this](std::string_view method) {
    if (method == "RemoveContainer") node.files.SetUsage("/kubelet", {100, 60, 100, 50});
  };
  Start();
  ASSERT_EQ(node.runtime.Containers().size(), 2U) << "while there is room it keeps its newest";
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(20s);
  EXPECT_EQ(node.runtime.Containers().size(), 1U);
  EXPECT_EQ(node.runtime.Sandboxes().size(), 1U);
  EXPECT_TRUE(node.Exists(logs));
  EXPECT_THAT(Killed(), IsEmpty());
}

TEST_F(Eviction, WhenThatIsNotEnoughThePodThatFillsTheDiskEnds) {
  Add({.uid = "a"});
  Add({.uid = "b"});
  node.disk.trees["/kubelet/pods/b"] = {50 * kMebi, 10};
  Start();
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(20s);
  ASSERT_THAT(Killed(), ElementsAre("b"));
  EXPECT_THAT(node.kills.kills[0].message(),
              HasSubstr("The node was low on resource: ephemeral-storage. "));
}

TEST_F(Eviction, PodsAboveTheirOwnLimitsEndInOnePass) {
  Add({.uid = "fine", .volume_limit = "1Mi"});
  Add({.uid = "volume", .volume_limit = "1Mi"});
  Add({.uid = "storage", .storage_limit = "1Mi"});
  Add({.uid = "critical", .priority = 2'000'000'000, .volume_limit = "1Mi"});
  node.disk.trees["/kubelet/pods/fine/volumes/kubernetes.io~empty-dir/tmp"] = {kMebi, 1};
  for (const char* uid : {"volume", "critical"})
    node.disk.trees[fmt::format("/kubelet/pods/{}/volumes/kubernetes.io~empty-dir/tmp", uid)] = {
        2 * kMebi, 1};
  node.disk.trees["/kubelet/pods/storage"] = {2 * kMebi, 1};
  Start();
  ASSERT_THAT(Killed(), testing::UnorderedElementsAre("volume", "storage"));
  for (const auto& kill : node.kills.kills) {
    EXPECT_TRUE(kill.own_limit());
    EXPECT_EQ(kill.grace_period_seconds(), 1);
    EXPECT_EQ(
        kill.message(),
        kill.uid() == "volume"
            ? "Usage of EmptyDir volume \"tmp\" exceeds the limit \"1Mi\". "
            : "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ");
  }
  EXPECT_EQ(CountEvents("Evicted"), 2);
  EXPECT_THAT(AnnotationsOf("Evicted"), IsEmpty()) << "nothing was short on the node";
  EXPECT_EQ(CountEvents("EvictionThresholdMet"), 0);
  EXPECT_THAT(Metrics(), HasSubstr("kubelet_evictions{eviction_signal=\"emptydirfs.limit\"} 1"));
}

TEST_F(Eviction, APodThatIsNotMeasuredStaysAndIsToldOnce) {
  const std::string path = "/kubelet/pods/app/volumes/kubernetes.io~empty-dir/tmp";
  const struct {
    const char* name;
    StatusOr<DiskStats> measured;
    std::string err;
  } kCases[] = {
      {"more entries than are counted", DiskStats{kMebi, 5'000'000, true},
       path + ": too many or too deeply nested files to count"},
      {"a sandbox without openat2", Unimplemented("openat2: taken away"), "openat2: taken away"},
      {"more entries again", DiskStats{kMebi, 5'000'000, true},
       path + ": too many or too deeply nested files to count"},
  };
  Add({.uid = "app", .volume_limit = "10Mi"});
  Start();
  std::vector<std::string> want;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    node.disk.trees.clear();
    node.disk.errors.clear();
    if (c.measured.ok()) {
      node.disk.trees[path] = *c.measured;
    } else {
      node.disk.errors[path] = c.measured.status();
    }
    node.all.Advance(1min);
    want.push_back(c.err);
    EXPECT_EQ(Unmeasured(), want);
    EXPECT_THAT(Killed(), IsEmpty());
  }
  EXPECT_THAT(Metrics(), HasSubstr("splitlet_gc_errors_total{kind=\"measure\"}"));
  node.disk.errors.clear();
  node.disk.trees[path] = {11 * kMebi, 5'000'000, true};
  node.all.Advance(1min);
  EXPECT_THAT(Killed(), ElementsAre("app")) << "what was counted is above the limit already";
}

TEST_F(Eviction, DisksThatTheRuntimeDoesNotReportAreLoggedOnceAndLimitsCount) {
  const std::string path = "/kubelet/pods/app/volumes/kubernetes.io~empty-dir/tmp";
  Add({.uid = "app", .volume_limit = "10Mi"});
  node.failing = "ImageFsInfo";
  Start();
  node.all.Advance(1min);
  EXPECT_EQ(node.Logged("cannot find the disks of the pods, will try again: limits of local "
                        "storage count as on one disk, and no pod is evicted for a full disk "
                        "until then"),
            1);
  EXPECT_THAT(Metrics(), HasSubstr("splitlet_gc_errors_total{kind=\"eviction\"}"));
  node.disk.trees[path] = {.bytes = 11 * kMebi};
  node.all.Advance(1min);
  EXPECT_THAT(Killed(), ElementsAre("app"));
}

TEST_F(Eviction, WithoutTheIsolationOfLocalStorageNoLimitCounts) {
  node.config.local_storage_limits = false;
  Add({.uid = "volume", .volume_limit = "1Mi"});
  node.disk.trees["/kubelet/pods/volume/volumes/kubernetes.io~empty-dir/tmp"] = {2 * kMebi, 1};
  Start();
  node.all.Advance(1min);
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_EQ(node.disk.measured, 0);
}

TEST_F(Eviction, InodesOfRootFileSystemsCount) {
  node.config.eviction_hard = {{"nodefs.inodesFree", "10%"}};
  Add({.uid = "files", .inodes = 5000});
  Add({.uid = "bytes", .inodes = 20});
  node.disk.trees["/kubelet/pods/bytes"] = {50 * kMebi, 10};
  node.disk.trees[node.config.pod_logs_dir + "/default_bytes_bytes/app"] = {kMebi, 5};
  Start();
  node.files.SetUsage("/kubelet", {100, 50, 100, 5});
  node.all.Advance(20s);
  ASSERT_THAT(Killed(), ElementsAre("files"));
  EXPECT_THAT(node.kills.kills[0].message(), HasSubstr("The node was low on resource: inodes. "));
}

/// Images are on /var/lib/containerd, which is full, half full or empty enough; each case says
/// where layers are.
class SplitDisks : public Eviction {
 protected:
  SplitDisks() {
    node.config.eviction_hard = {{"nodefs.available", "10%"}, {"imagefs.available", "10%"}};
    node.config.image_min_age = 0s;
    node.config.sandbox_image = "pause";
    node.runtime.SetContainerFs({.mountpoint = "/layers"});
    EXPECT_TRUE(node.files.MakeDirs("/layers", 0755).ok());
    node.files.SetUsage("/layers", {1000, 500, 100, 50});
    node.disk.devices = {{"/kubelet", 1}, {"/var/lib/containerd", 2}, {"/layers", 3}};
    node.runtime.AddImage("unused");
  }
};

TEST_F(SplitDisks, AFullDiskOfImagesCostsUnusedImages) {
  Add({.uid = "a"});
  AddFinished("done");
  on_call = [this](std::string_view method) {
    if (method == "RemoveImage") node.files.SetUsage("/var/lib/containerd", {1000, 500, 100, 50});
  };
  Start();
  node.files.SetUsage("/var/lib/containerd", {1000, 50, 100, 50});
  node.all.Advance(20s);
  EXPECT_EQ(calls["RemoveImage"], 1);
  EXPECT_EQ(node.runtime.Containers().size(), 2U) << "what ended is on another disk";
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_TRUE(HasCondition("DiskPressure"));
}

TEST_F(SplitDisks, AFullDiskOfLayersCostsThePodThatWroteMost) {
  Add({.uid = "files"});
  Add({.uid = "layers", .layer = 50 * kMebi});
  node.disk.trees["/kubelet/pods/files"] = {90 * kMebi, 10};
  Start();
  node.files.SetUsage("/layers", {1000, 99, 100, 50});
  node.all.Advance(20s);
  ASSERT_THAT(Killed(), ElementsAre("layers"));
  EXPECT_EQ(calls["RemoveImage"], 0);
  EXPECT_THAT(node.kills.kills[0].message(), HasSubstr("low on resource: ephemeral-storage. "));
  EXPECT_THAT(Metrics(), HasSubstr("{eviction_signal=\"containerfs.available\"} 1"));
}

TEST_F(SplitDisks, TheConditionStaysWhileTheRuntimeDoesNotAnswer) {
  node.config.eviction_hard = {{"nodefs.available", "10%"}};
  Start();
  node.files.SetUsage("/layers", {1000, 99, 100, 50});
  node.all.Advance(10s);
  ASSERT_TRUE(HasCondition("DiskPressure"));
  node.failing = "ImageFsInfo";
  node.all.Advance(10min);
  EXPECT_TRUE(HasCondition("DiskPressure"));
}

}  // namespace
}  // namespace splitlet::gc
