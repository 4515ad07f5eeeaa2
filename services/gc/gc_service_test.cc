#include "services/gc/gc_service.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cerrno>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

TEST(GcService, WhatAGonePodLeftIsRemovedAltogether) {
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

TEST(GcService, WhatIsRemovedOfAPodIsToldWithItsTrace) {
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
  int told = 0;
  for (const auto& line : node.sink.lines()) {
    if (line.message != "garbage removed") continue;
    std::map<std::string, std::string> fields;
    for (const auto& field : line.fields) fields[std::string(field.key)] = field.value;
    if (fields["podUID"] != "u1") continue;
    EXPECT_EQ(fields[std::string(kTraceIdField)], TraceIdOf(trace)) << fields["name"];
    ++told;
  }
  EXPECT_GT(told, 2);
}

TEST(GcService, NothingOfAPodGoesWithoutTheWordOfItsOwners) {
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
TEST(GcService, ASourceThatIsAwayHoldsUpNothingOfAnother) {
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

TEST(GcService, WhatARemovedPodLeftGoesWhileItsSourceIsIncomplete) {
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

TEST(GcService, OfAPodWithoutASandboxItsMarkNamesTheSource) {
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

TEST(GcService, APartThatIsRefusedKeepsTheDirectories) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.holds.refused = {node.container.str()};
  node.Start();
  node.CompleteViews();
  node.Run();
  node.ExpectUntouched("u1");
}

TEST(GcService, ADryRunTellsAndTouchesNothing) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.Start();
  node.CompleteViews();
  const Report report = node.Run(/*dry_run=*/true);
  EXPECT_TRUE(report.dry_run);
  EXPECT_EQ(report.items.size(), 4u) << "container, sandbox, logs, directory";
  EXPECT_EQ(node.holds.holds, 0);
  node.ExpectUntouched("u1");
}

TEST(GcService, AnUnmanagedPodIsLeftAloneUnlessTheNodeIsTakenOver) {
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

TEST(GcService, LogsThatCannotBeRemovedKeepTheirContainer) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.files.Fail(node.LogDir("u1") + "/app", PermissionDenied("no"));
  node.Start();
  node.CompleteViews();
  node.Run();
  EXPECT_EQ(node.runtime.Containers().size(), 1u);
  EXPECT_EQ(node.runtime.Sandboxes().size(), 1u);
  node.files.Fail(node.LogDir("u1") + "/app", OkStatus());
  node.Run();
  EXPECT_TRUE(node.runtime.Containers().empty());
  EXPECT_TRUE(node.runtime.Sandboxes().empty());
}

TEST(GcService, AContainerInUnknownStateIsStoppedAndThenRemoved) {
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
  const auto told = std::ranges::find(node.events.all, "Killing", &daemon::PodEvent::reason);
  ASSERT_NE(told, node.events.all.end());
  EXPECT_EQ(told->message, "Container is in unknown state, try killing it before removal");
  EXPECT_EQ(told->uid, "u1");
  EXPECT_EQ(told->container, "app");
}

/// The hold keeps pod-worker from starting the pod, so it must not end before the container ends.
TEST(GcService, TheGraceOfAContainerInUnknownStateEndsWithTheHold) {
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

TEST(GcService, ASandboxThatCannotBeStoppedIsNotRemoved) {
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

TEST(GcService, ASandboxThatPodWorkerHasStoppedIsNotStoppedAgain) {
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

TEST(GcService, NothingIsRemovedWhenTheHoldIsOver) {
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

TEST(GcService, ADirectoryMovedAsideIsEmptiedByTheNextRound) {
  TestNode node;
  ASSERT_TRUE(node.files.Replace("/state/pods/.removing-1-u1/file", "x", {}).ok());
  ASSERT_TRUE(node.files.Replace("/var/log/pods/.removing-1-ns_n_u1/file", "x", {}).ok());
  node.Start();
  EXPECT_TRUE(node.files.List("/state/pods")->empty());
  EXPECT_TRUE(node.files.List("/var/log/pods")->empty());
}

TEST(GcService, APodDirectoryWithAMountOrUserDataIsUntouched) {
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

TEST(GcService, IsNotReadyBeforeItHasListedTheRuntimeOnce) {
  TestNode node;
  node.runtime.AddFault({.method = "ListPodSandbox", .kind = cri::Fault::Kind::kHang, .times = 1});
  bool ready_before_listing = true;
  node.files.SetHook([&](std::string_view, const std::string&) {
    if (ready_before_listing) ready_before_listing = node.service().GetHealth().ready;
    return OkStatus();
  });
  node.Start();
  EXPECT_FALSE(ready_before_listing);
  node.Run();
  EXPECT_TRUE(node.service().GetHealth().ready);
}

TEST(GcService, ARuntimeThatDoesNotAnswerIsToldWithEachRound) {
  TestNode node;
  node.runtime.SetDown(true);
  node.Start();
  EXPECT_FALSE(node.service().GetHealth().ready);
  node.Run();
  EXPECT_EQ(std::ranges::count(node.events.reasons, "ContainerGCFailed"), 2);
  int logged = 0;
  for (const auto& line : node.sink.lines())
    logged += line.message == "container garbage collection ended early; the next round tries again"
                  ? 1
                  : 0;
  EXPECT_EQ(logged, 1);
  node.runtime.SetDown(false);
  node.Run();
  EXPECT_TRUE(node.service().GetHealth().ready);
}

TEST(GcService, PressureIsTableAndConditionAndSurvivesARestart) {
  TestNode node;
  node.Start();
  node.all.Advance(1s);
  ASSERT_TRUE(node.pressure.LiveAndComplete());
  ASSERT_NE(node.pressure.Find("node"), nullptr);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(10s);
  ASSERT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  EXPECT_EQ(node.pressure.Find("node")->conditions(0), "DiskPressure");
  EXPECT_EQ(std::ranges::count(node.events.reasons, "NodeHasDiskPressure"), 0)
      << "status reports conditions";
  node.files.SetUsage("/kubelet", {100, 50, 100, 50});
  node.Crash();
  node.Start();
  node.all.Advance(2min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1)
      << "for five minutes after it was last seen";
  node.all.Advance(4min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
}

/// The terminal status cannot be saved, so the pod never finishes and its leftovers would stay.
TEST(GcService, OnAFullDiskLogsOfRemovedPodsAreEmptied) {
  const struct {
    const char* name;
    v1::DesiredRecord::State state;
    v1::ContainerRecord::State container;
    uint64_t available;
    bool emptied;
    bool overdue = false;
  } kCases[] = {
      {"of a removed pod", v1::DesiredRecord::REMOVED, v1::ContainerRecord::EXITED, 0, true},
      {"not while there is room", v1::DesiredRecord::REMOVED, v1::ContainerRecord::EXITED, 2 << 20,
       false},
      {"not of a wanted pod", v1::DesiredRecord::WANTED, v1::ContainerRecord::EXITED, 0, false},
      {"not of one that runs", v1::DesiredRecord::REMOVED, v1::ContainerRecord::RUNNING, 0, false},
      {"of one that was killed, which the runtime could not write", v1::DesiredRecord::REMOVED,
       v1::ContainerRecord::RUNNING, 0, true, true},
      {"not of a wanted pod that ends", v1::DesiredRecord::WANTED, v1::ContainerRecord::RUNNING, 0,
       false, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.MakeEndedPod("u1");
    const std::string log = node.LogDir("u1") + "/app/0.log";
    node.files.SetUsage("/var/log/pods", {100 << 20, c.available, 100, 50});
    v1::DesiredRecord desired;
    desired.set_uid("u1");
    desired.set_name("web");
    desired.set_namespace_("default");
    desired.set_state(c.state);
    ASSERT_TRUE(node.desired.Put("u1", desired).ok());
    v1::WorkerRecord worker;
    worker.set_uid("u1");
    worker.set_state(v1::TERMINATING);
    const Clock::Time now = node.clock.Now();
    worker.mutable_deadline()->set_boot(now.boot);
    worker.mutable_deadline()->set_monotonic_ns((now.monotonic + (c.overdue ? 5s : 60s)).count());
    ASSERT_TRUE(node.workers.Put("u1", worker).ok());
    v1::RuntimeRecord runtime;
    runtime.mutable_pod()->add_containers()->set_state(c.container);
    ASSERT_TRUE(node.pods.Put("u1", runtime).ok());
    node.Start();
    node.CompleteViews();
    node.all.Advance(11s);
    EXPECT_EQ(node.files.Stat(log, false)->size, c.emptied ? 0u : 1u);
    EXPECT_EQ(node.Exists(log + ".2026.gz"), !c.emptied);
    EXPECT_EQ(node.runtime.Containers().size(), 1u);
  }
}

/// A pod that pleg has not listed yet may run.
TEST(GcService, OnAFullDiskLogsAreEmptiedOnlyOfPodsKnownNotToRun) {
  const struct {
    const char* name;
    bool listed;
    bool emptied;
  } kCases[] = {{"pleg has listed all, and shows nothing of it", true, true},
                {"pleg has not listed all yet", false, false}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    TestNode node;
    node.MakeEndedPod("u1");
    node.files.SetUsage("/var/log/pods", {100 << 20, 0, 100, 50});
    v1::DesiredRecord desired;
    desired.set_uid("u1");
    desired.set_name("web");
    desired.set_namespace_("default");
    desired.set_state(v1::DesiredRecord::REMOVED);
    ASSERT_TRUE(node.desired.Put("u1", desired).ok());
    v1::WorkerRecord worker;
    worker.set_uid("u1");
    worker.set_state(v1::TERMINATING);
    ASSERT_TRUE(node.workers.Put("u1", worker).ok());
    if (c.listed) {
      bus::Completeness complete;
      complete.scopes.insert(std::string(bus::kAll));
      node.pods.SetComplete(complete);
    }
    node.Start();
    node.CompleteViews();
    node.all.Advance(11s);
    EXPECT_EQ(node.files.Stat(node.LogDir("u1") + "/app/0.log", false)->size, c.emptied ? 0u : 1u);
  }
}

/// A signal that cannot be read does not end its condition: that takes an inspection, and five
/// minutes.
TEST(GcService, AConditionStaysWhileItsSignalCannotBeRead) {
  TestNode node;
  node.config.eviction_hard = {{"imagefs.available", "10%"}};
  node.files.SetUsage("/var/lib/containerd", {1000, 50, 100, 50});
  node.Start();
  node.all.Advance(10s);
  node.files.SetUsage("/var/lib/containerd", {1000, 500, 100, 50});
  node.runtime.SetDown(true);
  node.all.Advance(20min);
  ASSERT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  int logged = 0;
  for (const auto& line : node.sink.lines())
    logged += std::ranges::any_of(line.fields, [](const LogField& field) {
      return field.key == "signal" && field.value == "imagefs.available";
    });
  EXPECT_EQ(logged, 1) << "once, not at each check";
  node.runtime.SetDown(false);
  node.all.Advance(4min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  node.all.Advance(2min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
}

TEST(GcService, PressureIsUnknownWhileWhatIsRememberedCannotBeRead) {
  TestNode node;
  node.Start();
  node.files.SetUsage("/kubelet", {100, 5, 100, 50});
  node.all.Advance(10s);
  node.files.SetUsage("/kubelet", {100, 50, 100, 50});
  node.Crash();
  node.files.SetHook([](std::string_view operation, const std::string& path) {
    const bool fact = operation == "read" && path.starts_with("/run/gc/");
    return fact ? ErrnoStatus(EMFILE) : OkStatus();
  });
  node.Start();
  node.all.Advance(1min);
  EXPECT_FALSE(node.pressure.LiveAndComplete());
  EXPECT_FALSE(node.service().GetHealth().ready);
  node.files.SetHook(nullptr);
  node.all.Advance(1min);
  ASSERT_TRUE(node.pressure.LiveAndComplete());
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1) << "what was remembered counts";
}

TEST(GcService, ACrashLoopDoesNotWaitForTheMinute) {
  TestNode node;
  node.Start();
  const int before = static_cast<int>(node.runtime.Calls("ListPodSandbox"));
  v1::RuntimeRecord record;
  for (int i = 0; i < 2; ++i) {
    auto& container = *record.mutable_pod()->add_containers();
    container.set_name("app");
    container.set_state(v1::ContainerRecord::EXITED);
  }
  ASSERT_TRUE(node.pods.Put("u1", record).ok());
  node.all.Advance(11s);
  EXPECT_EQ(static_cast<int>(node.runtime.Calls("ListPodSandbox")), before + 1);
}

TEST(GcService, AfterItsEndNoTimerTouchesIt) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.Start();
  node.CompleteViews();
  node.all.Advance(10s);
  v1::RuntimeRecord record;
  for (int i = 0; i < 2; ++i) {
    auto& container = *record.mutable_pod()->add_containers();
    container.set_name("app");
    container.set_state(v1::ContainerRecord::EXITED);
  }
  ASSERT_TRUE(node.pods.Put("u1", record).ok());
  node.all.RunUntilIdle();
  const size_t calls = node.runtime.Calls("ListPodSandbox");
  node.process->service = nullptr;
  node.all.Advance(10min);
  EXPECT_EQ(node.runtime.Calls("ListPodSandbox"), calls);
}

/// Killed at each line that has an effect, the next start ends as if nothing had happened.
TEST(GcService, KilledAtEachEffectTheNextStartFinishes) {
  for (const std::string point :
       {"gc.hold.before", "gc.hold.after", "gc.remove-container.before",
        "gc.remove-container.after", "gc.remove-sandbox.before", "gc.remove-sandbox.after",
        "gc.move-pod-tree.before", "gc.move-pod-tree.after", "gc.remove-directory.before",
        "gc.remove-directory.after-rename", "gc.remove-directory.after", "gc.empty-pod-tree.before",
        "gc.empty-pod-tree.after"}) {
    SCOPED_TRACE(point);
    TestNode node;
    node.MakeEndedPod("u1");
    node.Start();
    node.CompleteViews();
    FailPoints points(
        {.crash = [] { throw exec::Scheduler::CrashedHere{}; }, .delay = [](int64_t) {}});
    ASSERT_TRUE(points.Set(point, "crash").ok());
    bool crashed = false;
    node.all.SetAfterStep([&](const exec::Scheduler::Step&, bool died) { crashed |= died; });
    FailPoints::SetCurrent(&points);
    node.process->loop.Post([&] { node.service().Run(false, [](const StatusOr<Report>&) {}); });
    node.all.RunUntilIdle();
    FailPoints::SetCurrent(nullptr);
    EXPECT_TRUE(crashed);
    node.Crash();
    node.Start();
    node.all.Advance(1s);
    node.Run();
    EXPECT_TRUE(node.runtime.Containers().empty());
    EXPECT_TRUE(node.runtime.Sandboxes().empty());
    EXPECT_FALSE(node.Exists(node.LogDir("u1")));
    EXPECT_TRUE(node.files.List(node.config.pods_dir)->empty());
    EXPECT_TRUE(node.files.List("/kubelet/pods")->empty());
    EXPECT_TRUE(node.files.List(node.config.pod_logs_dir)->empty());
  }
}

TEST(GcService, KilledWhereItPublishesThePressureTheNextStartPublishesIt) {
  for (const std::string point : {"gc.put-pressure.before", "gc.put-pressure.after",
                                  "gc.complete.before", "gc.complete.after"}) {
    SCOPED_TRACE(point);
    TestNode node;
    FailPoints points(
        {.crash = [] { throw exec::Scheduler::CrashedHere{}; }, .delay = [](int64_t) {}});
    ASSERT_TRUE(points.Set(point, "1*crash->off").ok());
    bool crashed = false;
    node.all.SetAfterStep([&](const exec::Scheduler::Step&, bool died) { crashed |= died; });
    FailPoints::SetCurrent(&points);
    node.Start();
    node.all.Advance(20s);
    FailPoints::SetCurrent(nullptr);
    EXPECT_TRUE(crashed);
    node.Crash();
    node.Start();
    node.all.Advance(20s);
    EXPECT_TRUE(node.pressure.LiveAndComplete());
    EXPECT_NE(node.pressure.Find("node"), nullptr);
  }
}

}  // namespace
}  // namespace splitlet::gc
