#include "services/gc/collect/containers/container_gc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "libs/base/trace.h"
#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

TEST(ContainerGc, WhatAGonePodLeftIsRemovedAltogether) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.Start();
  node.CompleteViews();
  const Report report = node.Run();
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
  EXPECT_FALSE(node.Exists(node.LogDir("u1")));
  EXPECT_FALSE(node.Exists(node.link));
  EXPECT_TRUE(node.files.List(node.config.pods_dir)->empty())
      << "also nothing that was moved aside";
  EXPECT_EQ(node.holds.releases, node.holds.holds);
  EXPECT_TRUE(node.runtime.Violations().empty());
  EXPECT_TRUE(node.Run().items.empty());
}

TEST(ContainerGc, RemovalsOfAPodAreLoggedWithItsTrace) {
  TestNode node;
  node.MakeEndedPod("u1");
  v1::WorkerRecord worker;
  worker.set_uid("u1");
  worker.set_incarnation(1);
  worker.set_state(v1::FINISHED);
  Random random(1);
  const std::string trace = MakeTraceparent(random);
  ASSERT_TRUE(node.workers.Put("u1", worker, trace).ok());
  node.Start();
  node.CompleteViews();
  ASSERT_FALSE(node.Run().items.empty());
  std::string rounds;
  for (const auto& line : node.sink.lines()) {
    if (line.message == "garbage removed") EXPECT_EQ(line.level, LogLevel::kDebug);
    if (line.message != "garbage collected") continue;
    for (const auto& field : line.fields) rounds += field.key + "=" + field.value + " ";
  }
  EXPECT_EQ(rounds, "pods=1 containers=1 sandboxes=1 logDirs=1 podDirs=1 logLinks=0 ");
  int lines = 0;
  for (const auto& line : node.sink.lines()) {
    if (line.message != "garbage removed") continue;
    std::map<std::string, std::string> fields;
    for (const auto& field : line.fields) fields[std::string(field.key)] = field.value;
    if (fields["podUID"] != "u1") continue;
    EXPECT_EQ(fields[std::string(kTraceIdField)], TraceIdOf(trace)) << fields["name"];
    ++lines;
  }
  EXPECT_GT(lines, 2);
}

TEST(ContainerGc, NothingOfAPodGoesWithoutTheWordOfItsOwners) {
  const struct {
    const char* name;
    std::function<void(TestNode&)> arrange;
  } kCases[] = {
      {"views that are not complete", [](TestNode&) {}},
      {"config-source does not answer",
       [](TestNode& n) {
         n.CompleteViews();
         n.known = Unavailable("starting");
       }},
      {"config-source knows the pod",
       [](TestNode& n) {
         n.CompleteViews();
         n.known = true;
       }},
      {"pod-worker does not answer",
       [](TestNode& n) {
         n.CompleteViews();
         n.holds.status = Unavailable("away");
       }},
      {"pod-worker refuses all of it",
       [](TestNode& n) {
         n.CompleteViews();
         n.holds.refused = {"u1", n.container.str(), n.sandbox.str()};
       }},
      {"views that are stale",
       [](TestNode& n) {
         n.CompleteViews();
         n.network.SetUp(false);
         n.network.SetCallsFail("gc", true);
         n.holds.status = Unavailable("away");  // for the rounds until then
         n.all.Advance(5s);
         n.holds.status = OkStatus();
       }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.MakeEndedPod("u1");
    node.holds.status = Unavailable("not yet");
    node.Start();
    node.holds.status = OkStatus();
    c.arrange(node);
    node.Run();
    node.ExpectUntouched("u1");
  }
}

/// The directories are removed when the plan also holds the sandbox, which names the source.
TEST(ContainerGc, ASourceThatIsAwayHoldsUpNothingOfAnother) {
  const struct {
    const char* name;
    const char* source;
    bool goes;
  } kCases[] = {{"of the source that is complete", "file", true},
                {"of the source that is away", "http", false},
                {"of a source without a name", "", false}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.MakeEndedPod("u1", c.source);
    node.Start();
    node.CompleteViews("file");
    node.Run();
    if (c.goes) {
      EXPECT_TRUE(node.runtime.Containers().empty());
      EXPECT_TRUE(node.runtime.Sandboxes().empty());
      EXPECT_FALSE(node.Exists(node.LogDir("u1")));
      EXPECT_FALSE(node.Exists("/state/pods/u1"));
      EXPECT_EQ(node.asked_sources, (std::vector<std::string>{"file"}));
    } else {
      node.ExpectUntouched("u1");
    }
  }
}

TEST(ContainerGc, WhatARemovedPodLeftGoesWhileItsSourceIsIncomplete) {
  for (const bool removed : {false, true}) {
    SCOPED_TRACE(removed);
    TestNode node;
    node.MakeEndedPod("u1");
    v1::WorkerRecord worker;
    worker.set_uid("u1");
    worker.set_incarnation(1);
    worker.set_state(v1::FINISHED);
    worker.set_removed(removed);
    ASSERT_TRUE(node.workers.Put("u1", worker).ok());
    node.known = Unavailable("source file is not complete: README: not a manifest");
    node.Start();
    node.CompleteViews("http");
    node.Run();
    if (!removed) {
      node.ExpectUntouched("u1");
      continue;
    }
    EXPECT_TRUE(node.runtime.Containers().empty());
    EXPECT_TRUE(node.runtime.Sandboxes().empty());
    EXPECT_FALSE(node.Exists(node.LogDir("u1")));
    EXPECT_FALSE(node.Exists("/state/pods/u1"));
    EXPECT_FALSE(node.Exists("/kubelet/pods/u1"));
    EXPECT_TRUE(node.asked_sources.empty()) << "its worker has said so";
  }
}

TEST(ContainerGc, OfAPodWithoutASandboxItsMarkNamesTheSource) {
  const struct {
    const char* source;
    bool goes;
  } kCases[] = {{"file", true}, {"http", false}, {"", false}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.source);
    TestNode node;
    node.MakePodDir("u1", c.source);
    ASSERT_TRUE(node.files.MakeDirs(node.LogDir("u1"), 0755).ok());
    node.Start();
    node.CompleteViews("file");
    node.Run();
    EXPECT_EQ(node.Exists("/state/pods/u1"), !c.goes);
    EXPECT_EQ(node.Exists(node.LogDir("u1")), !c.goes);
  }
}

TEST(ContainerGc, APartThatIsRefusedKeepsTheDirectories) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.holds.refused = {node.container.str()};
  node.Start();
  node.CompleteViews();
  node.Run();
  node.ExpectUntouched("u1");
}

TEST(ContainerGc, AnUnmanagedPodIsLeftAloneUnlessTheNodeIsTakenOver) {
  for (const bool take_over : {false, true}) {
    TestNode node;
    node.config.kill_unmanaged_pods = take_over;
    node.runtime.AddUnmanagedPod({.uid = "f1", .name = "other", .containers = {"c"}});
    node.runtime.Reboot();
    ASSERT_TRUE(node.files.MakeDirs("/var/log/pods/default_other_f1", 0755).ok());
    // A record with an incarnation and no state does not make the pod a managed one.
    v1::WorkerRecord found;
    found.set_uid("f1");
    found.set_incarnation(7);
    ASSERT_TRUE(node.workers.Put("f1", found).ok());
    node.Start();
    node.CompleteViews();
    const Report report = node.Run();
    EXPECT_EQ(node.runtime.Containers().empty(), take_over);
    EXPECT_EQ(node.Exists("/var/log/pods/default_other_f1"), !take_over);
    EXPECT_EQ(std::ranges::find(report.kept, "pod f1: unmanaged, splitlet did not create it") !=
                  report.kept.end(),
              !take_over);
  }
}

constexpr const char* kFailed = "cannot remove garbage; the next round tries again";

TEST(ContainerGc, LogsThatCannotBeRemovedKeepTheirContainer) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.files.Fail(node.LogDir("u1") + "/app", PermissionDenied("no"));
  node.Start();
  node.CompleteViews();
  for (int round = 0; round < 3; ++round) node.Run();
  EXPECT_EQ(node.Logged(kFailed), 1) << "the container, once";
  EXPECT_EQ(node.runtime.Containers().size(), 1u);
  EXPECT_EQ(node.runtime.Sandboxes().size(), 1u);
  node.files.Fail(node.LogDir("u1") + "/app", OkStatus());
  node.Run();
  EXPECT_EQ(node.Logged(kFailed), 1);
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
}

TEST(ContainerGc, AContainerInUnknownStateIsStoppedAndThenRemoved) {
  TestNode node;
  node.MakeEndedPod("u1");
  ASSERT_TRUE(node.runtime.SetUnknown(node.container).ok());
  node.Start();
  node.CompleteViews();
  const Report first = node.Run();
  node.ExpectUntouched("u1");
  EXPECT_TRUE(node.stop_graces.empty()) << "of an unknown pod, not in the first round";
  EXPECT_FALSE(first.kept.empty());

  node.runtime.AddFault({.method = "StopContainer", .code = StatusCode::kInternal, .times = 1});
  node.Run();
  node.ExpectUntouched("u1");
  EXPECT_EQ(node.runtime.Calls("RemoveContainer"), 0u) << "it may run on";
  EXPECT_EQ(std::ranges::count(node.sink.lines(),
                               std::string("cannot remove garbage; the next round tries again"),
                               [](const auto& line) { return std::string(line.message); }),
            1);

  EXPECT_EQ(node.Run().error, "");
  EXPECT_EQ(node.stop_graces, (std::vector<int64_t>{30, 30}));
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
  EXPECT_TRUE(node.runtime.Violations().empty());
  const auto event = std::ranges::find(node.events.all, "Killing", &daemon::PodEvent::reason);
  ASSERT_NE(event, node.events.all.end());
  EXPECT_EQ(event->message, "Container is in unknown state, try killing it before removal");
  EXPECT_EQ(event->uid, "u1");
  EXPECT_EQ(event->container, "app");
}

/// The hold keeps pod-worker from starting the pod, so it must not end before the container ends.
TEST(ContainerGc, TheGraceOfAContainerInUnknownStateEndsWithTheHold) {
  const struct {
    const char* name;
    std::string grace;  // in the container's annotations; empty: none
    int64_t want;
  } kCases[] = {{"of its pod", "7", 7},
                {"at least two seconds", "0", 2},
                {"of a pod without one", "", 2},
                {"what is no number is none", "soon", 2},
                {"longer than the hold", "600", 45}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.grace = c.grace;
    node.MakeEndedPod("u1");
    ASSERT_TRUE(node.runtime.SetUnknown(node.container).ok());
    v1::WorkerRecord ended;  // so that one round is enough
    ended.set_uid("u1");
    ended.set_incarnation(1);
    ended.set_state(v1::FINISHED);
    ASSERT_TRUE(node.workers.Put("u1", ended).ok());
    node.Start();
    node.CompleteViews();
    node.Run();
    EXPECT_EQ(node.stop_graces, std::vector<int64_t>{c.want});
    EXPECT_TRUE(node.runtime.Containers().empty());
  }
}

TEST(ContainerGc, ASandboxThatCannotBeStoppedIsNotRemoved) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.Start();
  node.runtime.AddFault({.method = "StopPodSandbox", .code = StatusCode::kInternal, .times = 1});
  node.CompleteViews();
  const Report report = node.Run();
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_EQ(node.runtime.Sandboxes().size(), 1u);
  EXPECT_TRUE(node.Exists(node.LogDir("u1")));
  EXPECT_EQ(node.Run().error, "");
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
}

TEST(ContainerGc, ASandboxThatPodWorkerHasStoppedIsNotStoppedAgain) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.MakeEndedPod("u2");
  node.Start();
  node.holds.stopped_sandboxes = {node.runtime.Sandboxes().at(0).id.str()};
  const size_t before = node.runtime.Calls("StopPodSandbox");
  node.CompleteViews();
  node.Run();
  EXPECT_EQ(node.runtime.Calls("StopPodSandbox"), before + 1);
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
}

TEST(ContainerGc, NothingIsRemovedWhenTheHoldIsOver) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.MakeEndedPod("u2");
  node.Start();
  node.CompleteViews();
  node.runtime.AddFault(
      {.method = "RemoveContainer", .kind = cri::Fault::Kind::kDelay, .delay = 51s, .times = 1});
  const Report report = node.Run();
  EXPECT_EQ(report.error, "the hold has ended; the next round removes the rest");
  EXPECT_EQ(node.runtime.Calls("RemoveContainer"), 1u);
  EXPECT_EQ(node.runtime.Sandboxes().size(), 2u);
  EXPECT_TRUE(node.Exists(node.LogDir("u1")));
  EXPECT_EQ(node.holds.releases, 1);
  node.all.Advance(3s);
  node.Run();
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
}

TEST(ContainerGc, ADirectoryMovedAsideIsEmptiedByTheNextRound) {
  TestNode node;
  ASSERT_TRUE(node.files.Replace("/state/pods/.removing-1-u1/file", "x", {}).ok());
  ASSERT_TRUE(node.files.Replace("/var/log/pods/.removing-1-ns_n_u1/file", "x", {}).ok());
  node.Start();
  EXPECT_TRUE(node.files.List("/state/pods")->empty());
  EXPECT_TRUE(node.files.List("/var/log/pods")->empty());
}

TEST(ContainerGc, APodDirectoryWithAMountOrUserDataIsUntouched) {
  TestNode node;
  ASSERT_TRUE(node.files.Replace("/state/pods/u1/volumes/kubernetes.io~nfs/v/file", "x", {}).ok());
  ASSERT_TRUE(node.files.MakeDirs("/state/pods/u2/volumes/kubernetes.io~nfs/v", 0755).ok());
  ASSERT_TRUE(node.files
                  .Replace("/proc/self/mountinfo",
                           "1 2 0:1 / /state/pods/u2/volumes/kubernetes.io~nfs/v rw\n", {})
                  .ok());
  ASSERT_TRUE(node.files.MakeDirs("/state/pods/u3/volumes/kubernetes.io~nfs/v", 0755).ok());
  node.Start();
  node.CompleteViews();
  const Report report = node.Run();
  EXPECT_TRUE(node.Exists("/state/pods/u1/volumes/kubernetes.io~nfs/v/file"));
  EXPECT_TRUE(node.Exists("/state/pods/u2/volumes/kubernetes.io~nfs/v"));
  EXPECT_FALSE(node.Exists("/state/pods/u3"));
  EXPECT_EQ(report.kept.size(), 2u);
}

}  // namespace
}  // namespace splitlet::gc
