#include "services/gc/collect/containers/remover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

/// The runtime names the path, so a wrong path must not cost a file of another program.
TEST(Remover, NoFileGoesThatIsNotBelowTheLogs) {
  for (const std::string dir : {"/var/log/pods/../../etc", "/etc", "/var/log/pods2"}) {
    SCOPED_TRACE(dir);
    TestNode node;
    node.log_directory = dir;
    const std::string file = dir + "/app/0.log";
    ASSERT_TRUE(node.files.Replace(file, "x", {}).ok());
    node.MakeEndedPod("u1");
    node.Start();
    node.CompleteViews();
    const Report report = node.Run();
    EXPECT_TRUE(node.runtime.Containers().empty());
    EXPECT_TRUE(node.Exists(file));
    EXPECT_EQ(std::ranges::count(report.kept, "log " + file + ": not below /var/log/pods"), 1);
  }
}

TEST(Remover, LinksThatCannotBeListedKeepTheirContainer) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.files.Fail(node.config.links_dir, PermissionDenied("no"));
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_EQ(node.runtime.Containers().size(), 1u);
  node.files.Fail(node.config.links_dir, OkStatus());
  node.Run();
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_FALSE(node.files.ReadSymlink(node.link).ok());
}

TEST(Remover, APodWithoutADirectoryOfLinksGoes) {
  TestNode node;
  node.MakeEndedPod("u1");
  ASSERT_TRUE(node.files.RemoveTree(node.config.links_dir).ok());
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_TRUE(node.runtime.Containers().empty());
}

TEST(Remover, ALinkThatDoesNotPointBelowTheLogsStays) {
  TestNode node;
  ASSERT_TRUE(node.files.MakeDirs(node.config.links_dir, 0755).ok());
  const std::string link = node.config.links_dir + "/web_default_app-0123456789ab.log";
  ASSERT_TRUE(node.files.MakeSymlink("/var/log/pods/../../etc/x", link).ok());
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_TRUE(node.files.ReadSymlink(link).ok());
}

/// Emptying shares its strand with images, and a pod may leave millions of files.
TEST(Remover, ARoundEmptiesForTwentySecondsAndAnotherFollowsSoon) {
  TestNode node;
  const auto dir = [](int i) { return fmt::format("/var/log/pods/.removing-{}-ns_n_u", i); };
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(node.files.Replace(dir(i) + "/file", "x", {}).ok());
  Duration takes = 8s;
  node.files.SetHook([&](std::string_view operation, const std::string& path) {
    if (operation == "remove-tree" && path.starts_with("/var/log/pods/")) node.clock.Advance(takes);
    return OkStatus();
  });
  node.Start();
  EXPECT_EQ(node.files.List("/var/log/pods")->size(), 3u)
      << "the third one begins after 16 s and has no time left at 24 s";
  const Report report = node.service().GetReport();
  EXPECT_EQ(std::ranges::count(report.kept, dir(3) + ": holds more files, which go next"), 1);
  takes = 0s;
  node.all.Advance(11s);
  EXPECT_TRUE(node.files.List("/var/log/pods")->empty());
}

/// The container is in unknown state, and pod-worker has left a volume.
void MakeLeftovers(TestNode& node) {
  node.MakeEndedPod("u1");
  ASSERT_TRUE(node.runtime.SetUnknown(node.container).ok());
  const std::string volumes = "/kubelet/pods/u1/volumes/kubernetes.io~configmap";
  ASSERT_TRUE(node.files.Replace(volumes + "/c/key", "x", {}).ok());
  node.holds.take_down = [&node, volumes](const std::string&) -> StatusOr<bool> {
    return node.files.RemoveTree(volumes).ok();
  };
  v1::WorkerRecord ended;
  ended.set_uid("u1");
  ended.set_incarnation(1);
  ended.set_state(v1::FINISHED);
  ASSERT_TRUE(node.workers.Put("u1", ended).ok());
}

/// Killed at each line that has an effect, the next start ends as if nothing had happened.
TEST(Remover, KilledAtEachEffectTheNextStartFinishes) {
  for (const std::string effect :
       {"hold", "stop-container", "remove-container-log", "remove-link", "remove-container",
        "remove-sandbox", "take-down-volumes", "move-pod-tree", "remove-directory",
        "empty-pod-tree", "empty-directory", "release-hold"}) {
    for (const std::string side : {".before", ".after"}) {
      SCOPED_TRACE(effect + side);
      TestNode node;
      MakeLeftovers(node);
      node.Start();
      node.CompleteViews();
      node.RunAndDieAt("gc." + effect + side);
      node.Start();
      node.all.Advance(1s);
      node.Run();
      EXPECT_TRUE(node.runtime.Containers().empty());
      EXPECT_TRUE(node.runtime.Sandboxes().empty());
      EXPECT_FALSE(node.files.ReadSymlink(node.link).ok());
      for (const auto& dir :
           {node.config.pods_dir, std::string("/kubelet/pods"), node.config.pod_logs_dir})
        EXPECT_TRUE(node.files.List(dir)->empty()) << dir;
    }
  }
}

TEST(Remover, KilledBetweenRenameAndEmptyingTheNextStartEmpties) {
  TestNode node;
  MakeLeftovers(node);
  node.Start();
  node.CompleteViews();
  node.RunAndDieAt("gc.remove-directory.after-rename");
  node.Start();
  node.Run();
  for (const auto& dir : {node.config.pods_dir, std::string("/kubelet/pods")})
    EXPECT_TRUE(node.files.List(dir)->empty()) << dir;
}

}  // namespace
}  // namespace splitlet::gc
