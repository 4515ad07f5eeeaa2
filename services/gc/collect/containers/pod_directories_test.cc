#include <gtest/gtest.h>

#include "services/gc/gc_fixture.h"

/// Directories of pods below the kubelet's root directory: which belong to splitlet, and how gc
/// removes them.

namespace splitlet::gc {
namespace {

bool Mentions(const std::vector<std::string>& lines, std::string_view text) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

struct RootNode : TestNode {
  void Put(const std::string& path, const std::string& content = "x") {
    ASSERT_TRUE(files.Replace(path, content, {}).ok());
  }
  Report StartAndRun() {
    Start();
    CompleteViews();
    return Run();
  }
  double Gauge(const std::string& name) {
    for (const auto& family : process->registry.Collect())
      if (family.name == name && !family.metric.empty()) return family.metric[0].gauge.value;
    return -1;
  }
};

TEST(PodDirectories, WhatSomebodyElseHasBelowTheRootIsNeverTouched) {
  RootNode node;
  node.MakePodDir("u1");
  for (const char* theirs : {"u2/etc-hosts", "u2/volumes/kubernetes.io~empty-dir/v/f",
                             ".removing-u3/f", ".removing-7-u3/f", "u1-more/etc-hosts"})
    node.Put(std::string("/kubelet/pods/") + theirs);
  node.config.kill_unmanaged_pods = true;
  EXPECT_EQ(node.StartAndRun().error, "");
  EXPECT_FALSE(node.Exists("/kubelet/pods/u1"));
  EXPECT_FALSE(node.Exists("/state/pods/u1"));
  for (const char* theirs : {"u2/etc-hosts", "u2/volumes/kubernetes.io~empty-dir/v/f",
                             ".removing-u3/f", ".removing-7-u3/f", "u1-more/etc-hosts"})
    EXPECT_TRUE(node.Exists(std::string("/kubelet/pods/") + theirs)) << theirs;
}

TEST(PodDirectories, OneOfBeforeTheMarksGoesFromWhereItIs) {
  RootNode node;
  node.Put("/state/pods/u1/volumes/kubernetes.io~empty-dir/tmp/f");
  node.Put("/kubelet/pods/u1/etc-hosts");
  EXPECT_EQ(node.StartAndRun().error, "");
  EXPECT_FALSE(node.Exists("/state/pods/u1"));
  EXPECT_TRUE(node.Exists("/kubelet/pods/u1/etc-hosts")) << "nothing said that it is ours";
}

TEST(PodDirectories, AMarkThatNamesNoDirectoryOfItsPodRemovesNothing) {
  for (const std::string mark : {"", "/kubelet/pods/u2", "/kubelet", "/", "/kubelet/pods",
                                 "kubelet/pods/u1", "/kubelet/../srv/pods/u1", "/kubelet//pods/u1",
                                 "/kubelet/pods/u1/", "/kubelet/pods/u1\n", "/kubelet/pods/./u1"}) {
    SCOPED_TRACE(mark);
    RootNode node;
    for (const char* path : {"/kubelet/pods/u1/f", "/kubelet/pods/u2/f", "/srv/pods/u1/f"})
      node.Put(path);
    node.Put("/state/pods/u1/root", mark);
    const Report report = node.StartAndRun();
    EXPECT_TRUE(Mentions(report.kept, "not a directory of pod u1"));
    for (const char* path :
         {"/kubelet/pods/u1/f", "/kubelet/pods/u2/f", "/srv/pods/u1/f", "/state/pods/u1/root"})
      EXPECT_TRUE(node.Exists(path)) << path;
  }
}

TEST(PodDirectories, AMarkThatCannotBeReadRemovesNothing) {
  RootNode node;
  node.MakePodDir("u1");
  node.Put("/state/pods/.removing-7-u2/root", "/kubelet/pods/u2");
  node.Put("/kubelet/pods/.removing-u2/f");
  node.files.Fail("/state/pods/u1/root", Internal("input/output error"));
  node.files.Fail("/state/pods/.removing-7-u2/root", Internal("input/output error"));
  const Report report = node.StartAndRun();
  EXPECT_TRUE(Mentions(report.kept, "input/output error"));
  EXPECT_TRUE(node.Exists("/kubelet/pods/u1"));
  EXPECT_TRUE(node.Exists("/kubelet/pods/.removing-u2/f"));
  node.files.Fail("/state/pods/u1/root", OkStatus());
  node.files.Fail("/state/pods/.removing-7-u2/root", OkStatus());
  node.Run();
  EXPECT_TRUE(node.files.List("/state/pods")->empty());
  EXPECT_TRUE(node.files.List("/kubelet/pods")->empty());
}

TEST(PodDirectories, OneOnADiskThatIsNotMountedIsNotForgotten) {
  RootNode node;
  node.MakePodDir("u1");
  ASSERT_TRUE(node.files.Rename("/kubelet", "/elsewhere").ok());
  EXPECT_TRUE(Mentions(node.StartAndRun().kept, "cannot inspect /kubelet/pods"));
  EXPECT_TRUE(node.Exists("/state/pods/u1/root"));
  ASSERT_TRUE(node.files.Rename("/elsewhere", "/kubelet").ok());
  node.Run();
  EXPECT_FALSE(node.Exists("/kubelet/pods/u1"));
  EXPECT_FALSE(node.Exists("/state/pods/u1"));
}

TEST(PodDirectories, OneBelowAnotherRootThanTodaysGoesToo) {
  RootNode node;
  node.MakePodDir("u1");
  node.config.root_dir = "/srv/kubelet";
  EXPECT_EQ(node.StartAndRun().error, "");
  EXPECT_FALSE(node.Exists("/kubelet/pods/u1"));
  EXPECT_FALSE(node.Exists("/state/pods/u1"));
}

TEST(PodDirectories, WithAMountOrUserDataItStaysWithItsMark) {
  RootNode node;
  for (const char* uid : {"u1", "u2"}) node.MakePodDir(uid);
  node.Put("/kubelet/pods/u1/volumes/kubernetes.io~nfs/v/file");
  node.Put("/proc/self/mountinfo",
           "1 2 0:1 / /kubelet/pods/u2/volumes/kubernetes.io~empty-dir/tmp rw\n");
  const Report report = node.StartAndRun();
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 2);
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes_errors"), 2);
  EXPECT_TRUE(Mentions(report.kept, "orphaned pod \"u1\" found, but there are files"));
  EXPECT_TRUE(Mentions(report.kept, "orphaned pod \"u2\" found, but /kubelet/pods/u2/volumes"));
  for (const char* uid : {"u1", "u2"}) {
    EXPECT_TRUE(node.Exists(std::string("/kubelet/pods/") + uid + "/volumes"));
    EXPECT_TRUE(node.Exists(std::string("/state/pods/") + uid + "/root"));
  }
}

TEST(PodDirectories, WhatVolumesLeftIsTakenDownUnderTheHoldAndTheRestGoesAtOnce) {
  RootNode node;
  for (const char* uid : {"u1", "u2", "u3", "wanted"}) node.MakePodDir(uid);
  for (const char* uid : {"u1", "wanted"})
    node.Put(std::string("/kubelet/pods/") + uid + "/volumes/kubernetes.io~configmap/c/key");
  node.Put("/proc/self/mountinfo",
           "1 2 0:1 / /kubelet/pods/u2/volumes/kubernetes.io~secret/s rw\n"
           "3 2 0:1 / /kubelet/pods/u3/etc rw\n");
  v1::DesiredRecord desired;
  desired.set_uid("wanted");
  desired.set_state(v1::DesiredRecord::WANTED);
  ASSERT_TRUE(node.desired.Put(bus::KeyOf("wanted"), desired).ok());
  node.holds.take_down = [&](const std::string& uid) -> StatusOr<bool> {
    EXPECT_EQ(node.holds.releases, node.holds.holds - 1) << "under the hold";
    if (uid == "u1") return node.files.RemoveTree("/kubelet/pods/u1/volumes").ok();
    return Unavailable("pod-worker is away");
  };
  const Report report = node.StartAndRun();
  EXPECT_EQ(node.holds.taken_down, (std::vector<std::string>{"u1", "u2"}));
  for (const char* path : {"/kubelet/pods/u1", "/state/pods/u1"}) EXPECT_FALSE(node.Exists(path));
  for (const char* path : {"/kubelet/pods/u2", "/kubelet/pods/u3", "/kubelet/pods/wanted"})
    EXPECT_TRUE(node.Exists(path)) << path;
  EXPECT_TRUE(Mentions(report.kept,
                       "orphaned pod \"u2\" found, but "
                       "/kubelet/pods/u2/volumes/kubernetes.io~secret/s is mounted: "));
  EXPECT_TRUE(Mentions(report.kept, "pod-worker is away"));
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 3);
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes_errors"), 2);
  node.holds.take_down = [&](const std::string&) -> StatusOr<bool> {
    node.Put("/proc/self/mountinfo", "");
    return true;
  };
  node.Run();
  EXPECT_FALSE(node.Exists("/kubelet/pods/u2"));
}

/// Volumes of kinds that pod-worker does not know: gc asks again only when something has changed.
TEST(PodDirectories, WhatPodWorkerCannotTakeDownIsAskedAboutOnce) {
  RootNode node;
  node.MakePodDir("u1");
  node.Put("/proc/self/mountinfo", "1 2 0:1 / /kubelet/pods/u1/volumes/kubernetes.io~csi/a rw\n");
  node.StartAndRun();
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(
        Mentions(node.Run().kept, "orphaned pod \"u1\" found, but /kubelet/pods/u1/volumes"));
    EXPECT_EQ(node.holds.taken_down.size(), 1u);
    EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes_errors"), 1);
  }
  node.Put("/proc/self/mountinfo", "1 2 0:1 / /kubelet/pods/u1/volumes/kubernetes.io~csi/b rw\n");
  node.Run();
  node.Run();
  EXPECT_EQ(node.holds.taken_down.size(), 2u);
  node.Put("/proc/self/mountinfo", "");
  node.Run();
  EXPECT_FALSE(node.Exists("/kubelet/pods/u1"));
}

/// Directories without such volumes are removed before.
TEST(PodDirectories, WhereTheHoldIsOverMeanwhileNothingIsRemoved) {
  RootNode node;
  for (const char* uid : {"u1", "u2"}) node.MakePodDir(uid);
  node.Put("/kubelet/pods/u1/volumes/kubernetes.io~configmap/c/key");
  node.holds.take_down = [&](const std::string&) -> StatusOr<bool> {
    EXPECT_FALSE(node.Exists("/kubelet/pods/u2"));
    node.clock.Advance(std::chrono::seconds{51});
    return node.files.RemoveTree("/kubelet/pods/u1/volumes").ok();
  };
  EXPECT_NE(node.StartAndRun().error, "");
  EXPECT_TRUE(node.Exists("/kubelet/pods/u1"));
  node.Run();
  EXPECT_FALSE(node.Exists("/kubelet/pods/u1"));
}

/// config-source knows the pod, pod-worker does not allow the removal, or a server does not answer.
TEST(PodDirectories, VolumesStayWhereTheOwnersDoNotGiveThePodFree) {
  RootNode node;
  node.MakePodDir("u1");
  const std::string key = "/kubelet/pods/u1/volumes/kubernetes.io~configmap/c/key";
  node.Put(key);
  node.known = true;
  node.holds.status = Unavailable("pod-worker is away");
  EXPECT_TRUE(Mentions(node.StartAndRun().kept, "pod u1: config-source still has the pod"));
  node.known = false;
  EXPECT_TRUE(Mentions(node.Run().kept, "orphaned pod \"u1\" found, but there are files"));
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes_errors"), 1);
  node.holds.status = OkStatus();
  node.holds.refused = {"u1"};
  EXPECT_TRUE(Mentions(node.Run().kept, "pod-worker did not allow the removal"));
  EXPECT_TRUE(node.holds.taken_down.empty());
  node.holds.refused.clear();
  node.holds.take_down = [](const std::string&) { return false; };
  EXPECT_TRUE(Mentions(node.Run().kept, "orphaned pod \"u1\" found, but there are files"));
  EXPECT_EQ(node.holds.taken_down, (std::vector<std::string>{"u1"}));
  EXPECT_TRUE(node.Exists(key));
}

TEST(PodDirectories, WithALinkToABlockDeviceItStays) {
  RootNode node;
  for (const char* uid : {"u1", "u2"}) node.MakePodDir(uid);
  const std::string devices = "/volumeDevices/kubernetes.io~csi";
  for (const char* uid : {"u1", "u2"})
    ASSERT_TRUE(node.files.MakeDirs("/kubelet/pods/" + (uid + devices), 0750).ok());
  ASSERT_TRUE(node.files.MakeSymlink("/dev/sdb", "/kubelet/pods/u1" + devices + "/disk").ok());
  const Report report = node.StartAndRun();
  EXPECT_TRUE(Mentions(report.kept, "orphaned pod \"u1\" found, but there are links"));
  EXPECT_TRUE(node.Exists("/kubelet/pods/u1" + devices));
  EXPECT_FALSE(node.Exists("/kubelet/pods/u2"));
}

TEST(PodDirectories, AMarkWithoutADirectoryGoes) {
  RootNode node;
  node.Put("/state/pods/u1/root", "/kubelet/pods/u1");  // pod-worker died before it made more
  node.Put("/state/pods/u2/.root.new", "/kubelet/po");  // and here in the middle
  EXPECT_EQ(node.StartAndRun().error, "");
  EXPECT_TRUE(node.files.List("/state/pods")->empty());
}

TEST(PodDirectories, OfOrphansAreCountedWithEachRound) {
  RootNode node;
  for (const char* uid : {"gone", "blocked", "fails", "wanted"}) node.MakePodDir(uid);
  node.Put("/kubelet/pods/blocked/volumes/kubernetes.io~nfs/v/file");
  node.files.SetHook([](std::string_view operation, const std::string& path) -> Status {
    const bool fails = operation == "rename" && path == "/kubelet/pods/fails";
    return fails ? Internal("input/output error") : OkStatus();
  });
  v1::DesiredRecord desired;
  desired.set_uid("wanted");
  desired.set_state(v1::DesiredRecord::WANTED);
  ASSERT_TRUE(node.desired.Put(bus::KeyOf("wanted"), desired).ok());
  node.Start();
  node.CompleteViews();
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 0);
  node.Run(/*dry_run=*/true);
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 0);
  node.Run();
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 3);
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes_errors"), 2);
  ASSERT_TRUE(node.files.Remove("/kubelet/pods/blocked/volumes/kubernetes.io~nfs/v/file").ok());
  node.files.SetHook(nullptr);
  node.Run();
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 2);
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes_errors"), 0);
  node.Run();
  EXPECT_EQ(node.Gauge("kubelet_orphan_pod_cleaned_volumes"), 0);
}

/// The directory that was moved aside belongs to the earlier incarnation, and the new directory to
/// the next.
TEST(PodDirectories, APodThatCameBackAfterARoundDiedKeepsWhatIsNew) {
  for (const std::string point :
       {"gc.move-pod-tree.after", "gc.remove-directory.after-rename", "gc.empty-pod-tree.after"}) {
    SCOPED_TRACE(point);
    RootNode node;
    node.MakePodDir("u1");
    node.Start();
    node.CompleteViews();
    node.RunAndDieAt(point);
    node.MakePodDir("u1");
    v1::WorkerRecord worker;
    worker.set_uid("u1");
    worker.set_incarnation(2);
    worker.set_state(v1::SYNCING);
    ASSERT_TRUE(node.workers.Put("u1", worker).ok());
    node.Start();
    node.CompleteViews();
    node.Run();
    EXPECT_TRUE(node.Exists("/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/tmp/f"));
    EXPECT_EQ(node.files.List("/kubelet/pods")->size(), 1u) << "what was aside is gone";
    EXPECT_EQ(node.files.List("/state/pods")->size(), 1u);
    EXPECT_TRUE(node.Exists("/state/pods/u1/root"));
  }
}

/// A directory that cannot be emptied keeps its mark, for the next round.
TEST(PodDirectories, TheMarkGoesAfterWhatItMarks) {
  RootNode node;
  node.MakePodDir("u1");
  node.files.SetHook([](std::string_view operation, const std::string& path) -> Status {
    if (operation == "remove-tree" && path == "/kubelet/pods/.removing-u1")
      return Internal("input/output error");
    return OkStatus();
  });
  node.StartAndRun();
  EXPECT_TRUE(node.Exists("/kubelet/pods/.removing-u1"));
  EXPECT_EQ(node.files.List("/state/pods")->size(), 1u);
  node.files.SetHook(nullptr);
  node.Run();
  EXPECT_TRUE(node.files.List("/state/pods")->empty());
  EXPECT_TRUE(node.files.List("/kubelet/pods")->empty());
}

}  // namespace
}  // namespace splitlet::gc
