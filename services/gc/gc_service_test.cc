#include "services/gc/gc_service.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cerrno>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/bus/fake_bus.h"
#include "libs/bus/fake_desired_owner.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

class FakeEvents final : public daemon::EventRecorder {
 public:
  void Record(daemon::PodEvent event) override { reasons.push_back(event.reason); }
  std::vector<std::string> reasons;
};

/// Grants what it is asked for, unless told otherwise.
class FakeWorkerClient final : public WorkerClient {
 public:
  struct State {
    Status status;
    std::set<std::string> refused;  // UIDs and ids
    int holds = 0, releases = 0;
  };
  explicit FakeWorkerClient(State& state) : state_(state) {}
  StatusOr<Hold> HoldForRemoval(const HoldWishes& wishes, Deadline) override {
    if (!state_.status.ok()) return state_.status;
    Hold hold{"h" + std::to_string(++state_.holds), wishes.uids, wishes.container_ids,
              wishes.sandbox_ids};
    for (auto* list : {&hold.uids, &hold.container_ids, &hold.sandbox_ids})
      std::erase_if(*list, [&](const auto& name) { return state_.refused.contains(name); });
    return hold;
  }
  Status ReleaseHold(const std::string&, Deadline) override {
    ++state_.releases;
    return OkStatus();
  }

 private:
  State& state_;
};

struct TestNode {
  /// One start of gc.
  struct Process {
    explicit Process(TestNode& node)
        : owner(node.all.NewOwner("gc")),
          loop(node.all, owner),
          strands(loop),
          bus(node.network, "gc", loop) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    bus::FakeBus bus;
    prometheus::Registry registry;
    std::unique_ptr<GcService> service;
  };
  FakeClock clock;
  exec::Scheduler all{clock};
  exec::FakeLoop loop{all, all.NewOwner("others")};
  fs::FakeFileSystem files{clock};
  std::unique_ptr<cri::Waiter> waiter = cri::MakeAdvancingWaiter(clock);
  cri::FakeRuntime runtime{clock, {.waiter = waiter.get()}};
  bus::FakeBusNetwork network{clock, 1};
  bus::FakeBus config_bus{network, "config-source", loop}, worker_bus{network, "pod-worker", loop},
      pleg_bus{network, "pleg", loop}, reader_bus{network, "status", loop};
  bus::Table<v1::DesiredRecord> desired = *bus::Own<v1::DesiredRecord>(config_bus, "desired");
  bus::Table<v1::WorkerRecord> workers = *bus::Own<v1::WorkerRecord>(worker_bus, "workers");
  bus::Table<v1::RuntimeRecord> pods = *bus::Own<v1::RuntimeRecord>(pleg_bus, "runtime");
  bus::View<v1::PressureRecord> pressure = *bus::ViewOf<v1::PressureRecord>(reader_bus, "pressure");
  FakeLogSink sink;
  FakeEvents events;
  FakeWorkerClient::State holds;
  StatusOr<bool> known = false;
  GcConfig config;
  std::unique_ptr<Process> process;

  TestNode() {
    config.node_name = "node";
    config.state_id = "state";
    config.state_dir = "/state";
    config.pods_dir = "/state/pods";
    config.pod_logs_dir = "/var/log/pods";
    config.links_dir = "/var/log/containers";
    config.facts_dir = "/run/gc";
    config.eviction_hard = {{"nodefs.available", "10%"}};
    CHECK(files.MakeDirs(config.pods_dir, 0755).ok());
    CHECK(files.MakeDirs("/var/lib/containerd", 0755).ok());
    files.SetUsage("/state", {100, 50, 100, 50});
    files.SetUsage("/var/lib/containerd", {1000, 500, 100, 50});
  }
  void Start() {
    process = std::make_unique<Process>(*this);
    GcDeps deps{.clock = clock,
                .loop = process->loop,
                .strands = process->strands,
                .files = files,
                .reader = runtime,
                .remover = runtime,
                .images = runtime,
                .stop_sandbox = [this](const cri::SandboxId& id,
                                       const Deadline& d) { return runtime.StopPodSandbox(id, d); },
                .workers_client = std::make_unique<FakeWorkerClient>(holds),
                .desired_client = std::make_unique<bus::FakeDesiredOwner>(
                    [this](const auto&, const auto&) { return known; }),
                .pressure = *bus::Own<v1::PressureRecord>(process->bus, "pressure"),
                .desired = *bus::ViewOf<v1::DesiredRecord>(process->bus, "desired"),
                .workers = *bus::ViewOf<v1::WorkerRecord>(process->bus, "workers"),
                .runtime = *bus::ViewOf<v1::RuntimeRecord>(process->bus, "runtime"),
                .log = Log(sink),
                .metrics = process->registry,
                .events = events};
    process->service = std::make_unique<GcService>(std::move(deps), config);
    process->loop.Post([this] { process->service->Start(); });
    all.RunUntilIdle();
  }
  /// SIGKILL.
  void Crash() {
    all.Drop(process->owner);
    process = nullptr;
  }
  GcService& service() { return *process->service; }
  void CompleteViews() {
    bus::Completeness complete;
    complete.scopes.insert(std::string(bus::kAll));
    desired.SetComplete(complete);
    workers.SetComplete(complete);
    all.RunUntilIdle();
  }
  /// A pod that ran and ended: sandbox, a dead container, log, link, directory.
  void MakeEndedPod(const std::string& uid) {
    runtime.AddImage("busybox");
    const cri::TestPod pod{.name = "web", .uid = uid};
    const Deadline deadline = After(clock, 1min);
    const auto config_proto = pod.Config();
    sandbox = *runtime.RunPodSandbox(config_proto, "", deadline);
    container =
        *runtime.CreateContainer(sandbox, pod.ContainerConfig("app", 0), config_proto, deadline);
    ASSERT_TRUE(runtime.StartContainer(container, deadline).ok());
    ASSERT_TRUE(runtime.StopContainer(container, 0, deadline).ok());
    ASSERT_TRUE(runtime.StopPodSandbox(sandbox, deadline).ok());
    ASSERT_TRUE(files.Replace(LogDir(uid) + "/app/0.log", "x", {}).ok());
    ASSERT_TRUE(files.Replace(LogDir(uid) + "/app/0.log.2026.gz", "x", {}).ok());
    ASSERT_TRUE(files.Replace(LogDir(uid) + "/app/1.log", "x", {}).ok());
    ASSERT_TRUE(files.MakeDirs(config.links_dir, 0755).ok());
    link = config.links_dir + "/web_default_app-" + container.str() + ".log";
    ASSERT_TRUE(files.MakeSymlink(LogDir(uid) + "/app/0.log", link).ok());
    ASSERT_TRUE(
        files.Replace("/state/pods/" + uid + "/volumes/kubernetes.io~empty-dir/tmp/f", "x", {})
            .ok());
  }
  std::string LogDir(const std::string& uid) const {
    return config.pod_logs_dir + "/default_web_" + uid;
  }
  bool Exists(const std::string& path) { return files.Stat(path, false).ok(); }
  Report Run(bool dry_run = false) {
    StatusOr<Report> report = Internal("no answer");
    process->loop.Post(
        [&] { service().Run(dry_run, [&](StatusOr<Report> r) { report = std::move(r); }); });
    all.RunUntilIdle();
    EXPECT_TRUE(report.ok());
    return report.ok() ? *report : Report();
  }
  void ExpectUntouched(const std::string& uid) {
    EXPECT_EQ(runtime.Containers().size(), 1u);
    EXPECT_EQ(runtime.Sandboxes().size(), 1u);
    EXPECT_TRUE(Exists(LogDir(uid)));
    EXPECT_TRUE(Exists("/state/pods/" + uid));
  }
  std::string link;
  cri::SandboxId sandbox;
  cri::ContainerId container;
};

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
         n.holds.status = Unavailable("away");  // what the rounds on the way are told
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

TEST(GcService, AForeignPodIsLeftAloneUnlessTheNodeIsTakenOver) {
  for (const bool take_over : {false, true}) {
    TestNode node;
    node.config.kill_foreign_pods = take_over;
    node.runtime.AddForeignPod({.uid = "f1", .name = "other", .containers = {"c"}});
    node.runtime.Reboot();
    ASSERT_TRUE(node.files.MakeDirs("/var/log/pods/default_other_f1", 0755).ok());
    node.Start();
    node.CompleteViews();
    const Report report = node.Run();
    EXPECT_EQ(node.runtime.Containers().empty(), take_over);
    EXPECT_EQ(node.Exists("/var/log/pods/default_other_f1"), !take_over);
    EXPECT_EQ(std::ranges::find(report.kept, "pod f1: made by somebody else") != report.kept.end(),
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

TEST(GcService, NothingIsRemovedWhenTheHoldIsOver) {
  TestNode node;
  node.MakeEndedPod("u1");
  node.MakeEndedPod("u2");
  node.Start();
  node.CompleteViews();
  node.runtime.AddFault(
      {.method = "RemoveContainer", .kind = cri::Fault::Kind::kDelay, .delay = 51s, .times = 1});
  const Report report = node.Run();
  EXPECT_EQ(report.error, "the hold is over; the rest waits for the next round");
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

TEST(GcService, ARuntimeThatDoesNotAnswerIsToldOnce) {
  TestNode node;
  node.runtime.SetDown(true);
  node.Start();
  EXPECT_FALSE(node.service().GetHealth().ready);
  node.Run();
  EXPECT_EQ(std::ranges::count(node.events.reasons, "ContainerGCFailed"), 1);
  node.runtime.SetDown(false);
  node.Run();
  EXPECT_TRUE(node.service().GetHealth().ready);
}

struct ImageNode : TestNode {
  ImageNode() {
    files.SetUsage("/var/lib/containerd", {1000, 100, 100, 50});
    for (const char* name : {"x.io/a:1", "x.io/b:1", "x.io/c:1"}) runtime.AddImage(name, 60);
  }
  void WantPodWithImage(const std::string& image) {
    k8s::io::api::core::v1::Pod pod;
    pod.mutable_spec()->add_containers()->set_image(image);
    v1::DesiredRecord record;
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired.Put("p", record).ok());
  }
  size_t Images() { return runtime.ListImages(After(clock, 1s))->size(); }
};

TEST(GcService, ImagesGoUntilEnoughIsFree) {
  ImageNode node;
  node.Start();
  node.CompleteViews();
  EXPECT_EQ(node.Images(), 3u) << "they are young";
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 1u) << "100 bytes are wanted, each has 60";
  EXPECT_EQ(node.service().GetReport().error, "");
}

TEST(GcService, ImagesOfWantedPodsStayAndWithoutThePodsAllDo) {
  ImageNode node;
  node.WantPodWithImage("x.io/a:1");
  node.Start();
  node.all.Advance(10min);
  EXPECT_EQ(node.Images(), 3u) << "`desired` is not complete";
  node.CompleteViews();
  node.Run();
  EXPECT_EQ(node.Images(), 1u);
  EXPECT_TRUE(node.runtime.ImageStatus("x.io/a:1", After(node.clock, 1s))->has_value());
}

TEST(GcService, TooLittleFreedIsAnEventAndFailingTwiceAnother) {
  ImageNode node;
  node.files.SetUsage("/var/lib/containerd", {100000, 100, 100, 50});
  node.Start();
  node.CompleteViews();
  EXPECT_EQ(std::ranges::count(node.events.reasons, "ImageGCFailed"), 0);
  node.all.Advance(5min);
  EXPECT_EQ(node.Images(), 0u);
  EXPECT_GE(std::ranges::count(node.events.reasons, "FreeDiskSpaceFailed"), 1);
  node.all.Advance(5min);
  EXPECT_GE(std::ranges::count(node.events.reasons, "ImageGCFailed"), 1);
}

TEST(GcService, AThresholdOfHundredLeavesImagesAlone) {
  ImageNode node;
  node.config.image_high_percent = 100;
  node.Start();
  node.CompleteViews();
  node.all.Advance(10min);
  EXPECT_EQ(node.Images(), 3u);
}

TEST(GcService, PressureIsTableConditionAndEventAndSurvivesARestart) {
  TestNode node;
  node.Start();
  node.all.Advance(1s);
  ASSERT_TRUE(node.pressure.LiveAndComplete());
  ASSERT_NE(node.pressure.Find("node"), nullptr);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
  node.files.SetUsage("/state", {100, 5, 100, 50});
  node.all.Advance(10s);
  ASSERT_EQ(node.pressure.Find("node")->conditions_size(), 1);
  EXPECT_EQ(node.pressure.Find("node")->conditions(0), "DiskPressure");
  EXPECT_EQ(std::ranges::count(node.events.reasons, "NodeHasDiskPressure"), 1);
  node.files.SetUsage("/state", {100, 50, 100, 50});
  node.Crash();
  node.Start();
  node.all.Advance(2min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 1)
      << "for five minutes after it was last seen";
  node.all.Advance(4min);
  EXPECT_EQ(node.pressure.Find("node")->conditions_size(), 0);
  EXPECT_EQ(std::ranges::count(node.events.reasons, "NodeHasNoDiskPressure"), 1);
}

TEST(GcService, PressureIsUnknownWhileWhatIsRememberedCannotBeRead) {
  TestNode node;
  node.Start();
  node.files.SetUsage("/state", {100, 5, 100, 50});
  node.all.Advance(10s);
  node.files.SetUsage("/state", {100, 50, 100, 50});
  node.Crash();
  node.files.SetHook([](std::string_view operation, const std::string& path) {
    const bool fact = operation == "read" && path.starts_with("/run/gc/");
    return fact ? ErrnoStatus(EMFILE) : OkStatus();
  });
  node.Start();
  node.all.Advance(1min);
  EXPECT_FALSE(node.pressure.LiveAndComplete());
  EXPECT_FALSE(node.service().GetHealth().ready);
  EXPECT_EQ(std::ranges::count(node.events.reasons, "NodeHasNoDiskPressure"), 0);
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

/// Killed at each line that has an effect, the next start ends as if nothing had happened.
TEST(GcService, KilledAtEachEffectTheNextStartFinishes) {
  for (const std::string point :
       {"gc.hold.before", "gc.hold.after", "gc.remove-container.before",
        "gc.remove-container.after", "gc.remove-sandbox.before", "gc.remove-sandbox.after",
        "gc.remove-directory.before", "gc.remove-directory.after-rename"}) {
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
    EXPECT_TRUE(node.files.List(node.config.pod_logs_dir)->empty());
  }
}

}  // namespace
}  // namespace splitlet::gc
