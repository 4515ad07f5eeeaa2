#pragma once

/// The whole of gc on fakes: runtime, files, bus, loop and strands on virtual time, and the owners
/// that gc asks. A test may kill and start the process any number of times.
/// Threads: one.
/// Errors: as test failures.

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/bus/fake_bus.h"
#include "libs/cgroup/fake_memory_alarm.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/kube/pod_types.h"
#include "libs/node/pod_place.h"
#include "libs/peers/fake_desired_owner.h"
#include "services/gc/gc_service.h"
#include "services/gc/measure/fake_tree_meter.h"
#include "services/gc/protect/oom/fake_kernel_log.h"
#include "services/gc/protect/shutdown/fake_shutdown_source.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::gc {

class FakeEvents final : public daemon::EventRecorder {
 public:
  void Record(daemon::PodEvent event) override {
    reasons.push_back(event.reason);
    all.push_back(std::move(event));
  }
  std::vector<std::string> reasons;
  std::vector<daemon::PodEvent> all;
};

/// Allows every removal that the test does not refuse.
class FakeWorkerClient final : public peers::HoldClient {
 public:
  struct State {
    Status status;
    std::set<std::string> refused;  // UIDs and ids
    std::vector<std::string> stopped_sandboxes;
    /// Result of TakeDownVolumes, by UID; null: the volumes are gone.
    std::function<StatusOr<bool>(const std::string& uid)> take_down;
    std::vector<std::string> taken_down;
    int holds = 0, releases = 0;
  };
  explicit FakeWorkerClient(State& state) : state_(state) {}
  StatusOr<peers::Hold> HoldForRemoval(const peers::HoldWishes& wishes, Deadline) override {
    if (!state_.status.ok()) return state_.status;
    peers::Hold hold{"h" + std::to_string(++state_.holds), wishes.uids, wishes.container_ids,
                     wishes.sandbox_ids, state_.stopped_sandboxes};
    for (auto* list : {&hold.uids, &hold.container_ids, &hold.sandbox_ids})
      std::erase_if(*list, [&](const auto& name) { return state_.refused.contains(name); });
    return hold;
  }
  Status ReleaseHold(const std::string&, Deadline) override {
    ++state_.releases;
    return OkStatus();
  }
  StatusOr<bool> TakeDownVolumes(const std::string& uid, Deadline) override {
    state_.taken_down.push_back(uid);
    return state_.take_down ? state_.take_down(uid) : true;
  }

 private:
  State& state_;
};

/// Accepts every kill, unless the test sets an error.
class FakeKillClient final : public peers::KillClient {
 public:
  struct State {
    Status status;
    std::vector<v1::KillPodRequest> kills;
    std::function<void(const v1::KillPodRequest&)> on_kill;
  };
  explicit FakeKillClient(State& state) : state_(state) {}
  Status KillPod(const v1::KillPodRequest& request, const Deadline&, const std::string&) override {
    state_.kills.push_back(request);
    if (state_.status.ok() && state_.on_kill) state_.on_kill(request);
    return state_.status;
  }

 private:
  State& state_;
};

struct TestNode {
  /// gc from a start to its end.
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
  std::function<void(std::string_view method)> on_call;
  std::string failing;  // name of the runtime call that fails
  std::vector<int64_t> stop_graces;
  std::string grace = "30";   // of pods, in the annotations of their containers
  std::string log_directory;  // of pods, as the runtime says; empty: where they are
  cri::FakeRuntime runtime{clock,
                           {.waiter = waiter.get(),
                            .intercept =
                                [this](std::string_view method, const std::string&) {
                                  if (on_call) on_call(method);
                                  return method == failing ? Unavailable("busy") : OkStatus();
                                },
                            .append_file =
                                [this](const std::string& path, const std::string& text) {
                                  const auto before = files.Read(path, 1 << 20);
                                  const Status put =
                                      files.Replace(path, (before.ok() ? *before : "") + text, {});
                                  CHECK(put.ok(), "{}", put);
                                }}};
  cri::Images* images = &runtime;
  bus::FakeBusNetwork network{clock, 1};
  bus::FakeBus config_bus{network, "config-source", loop}, worker_bus{network, "pod-worker", loop},
      pleg_bus{network, "pleg", loop}, reader_bus{network, "status", loop};
  bus::Table<v1::DesiredRecord> desired = *bus::Own<v1::DesiredRecord>(config_bus, "desired");
  bus::Table<v1::WorkerRecord> workers = *bus::Own<v1::WorkerRecord>(worker_bus, "workers");
  bus::Table<v1::RuntimeRecord> pods = *bus::Own<v1::RuntimeRecord>(pleg_bus, "runtime");
  bus::View<v1::PressureRecord> pressure = *bus::ViewOf<v1::PressureRecord>(reader_bus, "pressure");
  FakeLogSink sink;
  const Log log{sink};
  FakeEvents events;
  FakeWorkerClient::State holds;
  FakeKillClient::State kills;
  FakeTreeMeter::Disk disk;
  FakeKernelLog::State kernel_log;
  std::optional<cgroup::FakeMemoryAlarm::State> memory_alarm;  // set: the configuration asks for it
  FakeShutdownSource::Machine machine;
  StatusOr<bool> known = false;
  std::vector<std::string> asked_sources;
  GcConfig config;
  std::unique_ptr<Process> process;

  TestNode() {
    config.node_name = "node";
    config.state_id = "state";
    config.root_dir = "/kubelet";
    config.pods_dir = "/state/pods";
    config.pod_logs_dir = "/var/log/pods";
    config.links_dir = "/var/log/containers";
    config.records_dir = "/run/gc/facts";
    config.evictions_dir = "/run/gc/victims";
    config.shutdown_dir = "/run/gc/shutdown";
    config.eviction_hard = {{"nodefs.available", "10%"}};
    CHECK(files.MakeDirs(config.pods_dir, 0755).ok());
    CHECK(files.MakeDirs("/kubelet/pods", 0750).ok());
    CHECK(files.MakeDirs("/var/lib/containerd", 0755).ok());
    files.SetUsage("/kubelet", {100, 50, 100, 50});
    files.SetUsage("/var/lib/containerd", {1000, 500, 100, 50});
  }
  void Start() {
    process = std::make_unique<Process>(*this);
    GcDeps deps{
        .env = {.clock = clock,
                .loop = process->loop,
                .strands = process->strands,
                .log = log,
                .metrics = process->registry},
        .files = files,
        .calls = {
            .reader = runtime,
            .remover = runtime,
            .images = *images,
            .logs = runtime,
            .stats = runtime,
            .stop_sandbox = [this](const cri::SandboxId& id,
                                   const Deadline& d) { return runtime.StopPodSandbox(id, d); },
            .stop_container =
                [this](const cri::ContainerId& id, int64_t seconds, const Deadline& d) {
                  stop_graces.push_back(seconds);
                  return runtime.StopContainer(id, seconds, d);
                },
            .pid = [] { return std::nullopt; }},
        .compress = [this](const std::string& from,
                           const std::string& to) { return Compress(from, to); },
        .meter = std::make_unique<FakeTreeMeter>(disk),
        .kernel_log = std::make_unique<FakeKernelLog>(kernel_log),
        .memory_alarm =
            memory_alarm ? std::make_unique<cgroup::FakeMemoryAlarm>(*memory_alarm) : nullptr,
        .shutdown = std::make_unique<FakeShutdownSource>(machine),
        .workers_client = std::make_unique<FakeWorkerClient>(holds),
        .kills = std::make_unique<FakeKillClient>(kills),
        .desired_client = std::make_unique<peers::FakeDesiredOwner>(
            [this](const auto&, const auto&) { return known; }, nullptr, &asked_sources),
        .pressure = *bus::Own<v1::PressureRecord>(process->bus, "pressure"),
        .desired = *bus::ViewOf<v1::DesiredRecord>(process->bus, "desired"),
        .workers = *bus::ViewOf<v1::WorkerRecord>(process->bus, "workers"),
        .runtime = *bus::ViewOf<v1::RuntimeRecord>(process->bus, "runtime"),
        .events = events};
    process->service = std::make_unique<GcService>(std::move(deps), config);
    process->loop.Post([this] { process->service->Start(); });
    all.RunUntilIdle();
  }
  /// Writes another content, as gzip does.
  Status Compress(const std::string& from, const std::string& to) {
    ASSIGN_OR_RETURN(const std::string text, files.Read(from, 1 << 20), "read");
    return files.Replace(to, "packed " + text, {});
  }
  /// SIGKILL.
  void Crash() {
    all.Drop(process->owner);
    process = nullptr;
  }
  /// Lets gc run until it dies at this fail point; `run`: what brings it there.
  void DieAt(const std::string& point, const std::function<void()>& run) {
    FailPoints points(
        {.crash = [] { throw exec::Scheduler::CrashedHere{}; }, .delay = [](int64_t) {}});
    ASSERT_TRUE(points.Set(point, "1*crash->off").ok());
    bool crashed = false;
    all.SetAfterStep([&](const exec::Scheduler::Step&, bool died) { crashed |= died; });
    FailPoints::SetCurrent(&points);
    run();
    FailPoints::SetCurrent(nullptr);
    all.SetAfterStep(nullptr);
    EXPECT_TRUE(crashed) << point;
    Crash();
  }
  /// Dies in a round.
  void RunAndDieAt(const std::string& point) {
    DieAt(point, [this] {
      process->loop.Post([this] { service().Run(false, [](const StatusOr<Report>&) {}); });
      all.RunUntilIdle();
    });
  }
  GcService& service() { return *process->service; }
  void CompleteViews(const std::string& source = std::string(bus::kAll)) {
    bus::Completeness complete;
    complete.scopes.insert(source);
    desired.SetComplete(complete);
    complete.scopes = {std::string(bus::kAll)};
    workers.SetComplete(complete);
    all.RunUntilIdle();
  }
  /// A pod that ran and ended: sandbox, a dead container, log, link, directory.
  void MakeEndedPod(const std::string& uid, const std::string& source = "file") {
    runtime.AddImage("busybox");
    const cri::TestPod pod{.name = "web", .uid = uid};
    const Deadline deadline = After(clock, 1min);
    auto config_proto = pod.Config();
    (*config_proto.mutable_annotations())["kubernetes.io/config.source"] = source;
    if (!log_directory.empty()) config_proto.set_log_directory(log_directory);
    sandbox = *runtime.RunPodSandbox(config_proto, "", deadline);
    auto app = pod.ContainerConfig("app", 0);
    auto& annotations = *app.mutable_annotations();
    annotations[std::string(kube::kPodTerminationGracePeriod)] = grace;
    container = *runtime.CreateContainer(sandbox, app, config_proto, deadline);
    ASSERT_TRUE(runtime.StartContainer(container, deadline).ok());
    ASSERT_TRUE(runtime.StopContainer(container, 0, deadline).ok());
    ASSERT_TRUE(runtime.StopPodSandbox(sandbox, deadline).ok());
    ASSERT_TRUE(files.Replace(LogDir(uid) + "/app/0.log", "x", {}).ok());
    ASSERT_TRUE(files.Replace(LogDir(uid) + "/app/0.log.2026.gz", "x", {}).ok());
    ASSERT_TRUE(files.Replace(LogDir(uid) + "/app/1.log", "x", {}).ok());
    ASSERT_TRUE(files.MakeDirs(config.links_dir, 0755).ok());
    link = config.links_dir + "/web_default_app-" + container.str() + ".log";
    ASSERT_TRUE(files.MakeSymlink(LogDir(uid) + "/app/0.log", link).ok());
    MakePodDir(uid);
  }
  /// As pod-worker does.
  void MakePodDir(const std::string& uid, const std::string& source = "") {
    const node::PodRoots roots{config.pods_dir, config.root_dir};
    const auto place = node::FindPodPlace(files, roots, uid);
    ASSERT_TRUE(place.ok()) << place.status();
    if (!place->ours) {
      ASSERT_TRUE(node::MarkPodPlace(files, roots, uid, {place->path, source}).ok());
    }
    ASSERT_TRUE(
        files.Replace(place->path + "/volumes/kubernetes.io~empty-dir/tmp/f", "x", {}).ok());
  }
  std::string LogDir(const std::string& uid) const {
    return config.pod_logs_dir + "/default_web_" + uid;
  }
  /// How many lines with this message were logged.
  int Logged(std::string_view message) const {
    return static_cast<int>(std::ranges::count_if(
        sink.lines(), [&](const auto& line) { return line.message == message; }));
  }
  std::string Metrics() const {
    return prometheus::TextSerializer().Serialize(process->registry.Collect());
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
    EXPECT_TRUE(Exists("/kubelet/pods/" + uid));
  }
  std::string link;
  cri::SandboxId sandbox;
  cri::ContainerId container;
};

}  // namespace splitlet::gc
