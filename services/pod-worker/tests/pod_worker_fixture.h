#pragma once

/// pod-worker whole, on fakes: runtime, files, bus, loop and strands on virtual time, with a
/// config-source, a sync-loop and a pleg of a few lines beside it. The process may be killed and
/// started as often as a test wants.
/// Threads: one.
/// Errors:  as test failures.

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/time.pb.h"
#include "libs/base/fail_point.h"
#include "libs/bus/fake_bus.h"
#include "libs/cgroup/fake_kernel.h"
#include "libs/cgroup/fake_systemd.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/stranded_calls.h"
#include "libs/cri/trace_scope.h"
#include "libs/dbus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "libs/http/fake_caller.h"
#include "libs/peers/fake_desired_owner.h"
#include "libs/plugins/fake_plugins.h"
#include "libs/process/fake_programs.h"
#include "services/pod-worker/drivers/fake_drivers.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/tests/pods_fixture.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

class FakeEvents final : public daemon::EventRecorder {
 public:
  void Record(daemon::PodEvent event) override { events.push_back(std::move(event)); }
  std::vector<std::string> Reasons() const {
    std::vector<std::string> reasons;
    for (const auto& event : events) reasons.push_back(event.reason);
    return reasons;
  }
  int Count(const std::string& reason) const {
    int count = 0;
    for (const auto& event : events) count += event.reason == reason ? 1 : 0;
    return count;
  }
  std::string Text(const std::string& reason) const {
    for (const auto& event : events)
      if (event.reason == reason) return event.message;
    return "";
  }
  std::vector<daemon::PodEvent> events;
};

/// The traceparents that the calls which make and end things would carry. What has begun is not
/// given up, as with LimitedRunner.
class TracedRunner final : public cri::Runner {
 public:
  explicit TracedRunner(cri::Runner& runner) : runner_(runner) {}
  StatusOr<cri::SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                         const std::string& handler, Deadline deadline) override {
    if (Note("RunPodSandbox", deadline)) return Cancelled("given up");
    if (on_sandbox) on_sandbox(config);
    auto id = runner_.RunPodSandbox(config, handler, {deadline.at});
    if (after_sandbox && id.ok()) after_sandbox(*id);
    return id;
  }
  Status StopPodSandbox(const cri::SandboxId& id, Deadline deadline) override {
    Note("StopPodSandbox", deadline);
    if (stops_nothing) return OkStatus();
    return runner_.StopPodSandbox(id, deadline);
  }
  StatusOr<cri::ContainerId> CreateContainer(const cri::SandboxId& sandbox,
                                             const runtime::v1::ContainerConfig& config,
                                             const runtime::v1::PodSandboxConfig& sandbox_config,
                                             Deadline deadline) override {
    if (Note("CreateContainer", deadline)) return Cancelled("given up");
    if (on_container) on_container(config);
    auto id = runner_.CreateContainer(sandbox, config, sandbox_config, {deadline.at});
    if (after_create) after_create();
    return id;
  }
  Status StartContainer(const cri::ContainerId& id, Deadline deadline) override {
    if (Note("StartContainer", deadline)) return Cancelled("given up");
    return runner_.StartContainer(id, {deadline.at});
  }
  Status StopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                       Deadline deadline) override {
    Note("StopContainer", deadline);
    graces.push_back(grace_seconds);
    return runner_.StopContainer(id, grace_seconds, deadline);
  }
  std::vector<std::string> notes;  // "<method> <traceparent>"
  std::vector<int64_t> graces;     // of the stops
  std::string ends_in_line;        // the method for whose turn the pod's end is faster
  bool stops_nothing = false;      // says that sandboxes are stopped
  std::function<void()> after_create;
  std::function<void(const cri::SandboxId& id)> after_sandbox;
  std::function<void(const runtime::v1::PodSandboxConfig&)> on_sandbox;
  std::function<void(const runtime::v1::ContainerConfig&)> on_container;
  std::function<void(const std::string& method)> before;

 private:
  /// Whether it is given up.
  bool Note(const std::string& method, const Deadline& deadline) {
    if (before) before(method);
    notes.push_back(method + " " + cri::TraceScope::Current());
    const bool ends = method == ends_in_line && deadline.cancel != nullptr;
    if (ends) deadline.cancel->Cancel();
    return ends;
  }
  cri::Runner& runner_;
};

/// The long calls of a process, whose answers a test may hold back.
class HeldCalls final : public cri::LongCalls {
 public:
  explicit HeldCalls(cri::LongCalls& calls) : calls_(calls) {}
  void BeginStopContainer(const cri::ContainerId& id, int64_t grace_seconds, Deadline deadline,
                          Stopped done) override {
    if (!hold) return calls_.BeginStopContainer(id, grace_seconds, deadline, std::move(done));
    stops.push_back(std::move(done));
  }
  void BeginPullImage(const cri::PullOrder& order, Deadline deadline, Pulled done) override {
    asked_images.push_back(order.image);
    if (!hold) return calls_.BeginPullImage(order, deadline, std::move(done));
    pulls.push_back(std::move(done));
  }
  void BeginExecSync(const cri::ContainerId& id, const cri::ExecCommand& command, Deadline deadline,
                     Executed done) override {
    if (!hold && !hold_exec) return calls_.BeginExecSync(id, command, deadline, std::move(done));
    execs.push_back(std::move(done));
  }
  bool hold = false;
  bool hold_exec = false;
  std::vector<Stopped> stops;
  std::vector<Pulled> pulls;
  std::vector<std::string> asked_images;  // of all pulls, as the runtime is asked for them
  std::vector<Executed> execs;

 private:
  cri::LongCalls& calls_;
};

/// config-source, as it is asked before a destructive act.
struct Owner {
  std::set<std::string> known;
  std::map<std::string, peers::DesiredOwner::Record>
      records;  // asked for, beside what the view shows
  bool silent = false;
  int finds = 0;
  std::vector<std::string> sources;  // that were named when it was asked for a pod
  peers::FakeDesiredOwner asked{
      [this](const std::string& uid, const Deadline&) -> StatusOr<bool> {
        if (silent) return Unavailable("a source is not complete");
        return known.contains(uid);
      },
      [this](const std::string& uid, const Deadline&) -> StatusOr<peers::DesiredOwner::Record> {
        ++finds;
        if (silent) return Unavailable("a source is not complete");
        const auto found = records.find(uid);
        return found == records.end() ? nullptr : found->second;
      },
      &sources};
};

class TestNode {
 public:
  struct Process {
    explicit Process(TestNode& node)
        : owner(node.all.NewOwner("pod-worker")),
          loop(node.all, owner),
          strands(loop),
          runtime_calls(node.traced, node.runtime, strands),
          calls(runtime_calls),
          registrars(node.clock, loop),
          bus(node.network, "pod-worker", loop),
          log(node.sink) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    cri::StrandedCalls runtime_calls;
    HeldCalls calls;
    plugins::FakePlugins registrars;
    bus::FakeBus bus;
    const Log log;
    prometheus::Registry registry;
    std::unique_ptr<ApiCache> api_objects;  // null: this node has no API server
    std::unique_ptr<PodWorkerService> service;
  };

  TestNode() {
    config.node = {.name = "node-1",
                   .annotation = "state-1/node-1",
                   .memory_bytes = 8LL << 30,
                   .resolver_config = "",
                   .pod_logs_dir = "/logs/pods",
                   .container_links_dir = "/logs/containers",
                   .pod_roots = {"/state/pods", "/kubelet"},
                   .seccomp_dir = "/kubelet/seccomp"};
    config.run_dir = "/run";
    config.state_dir = "/state";
    runtime.AddImage("busybox:1.36");
    CompleteDesired();
    ShowNode({"192.0.2.1"});
  }
  ~TestNode() { FailPoints::SetCurrent(nullptr); }

  void Start() {
    process = std::make_unique<Process>(*this);
    if (api != nullptr)
      process->api_objects = std::make_unique<ApiCache>(
          ApiContext{clock, process->loop, process->strands, *api, api_jitter, Log(sink)},
          change_detection, [this](const kube::Pod& pod) {
            return MayNeedAccount(config.credential_providers, pod);
          });
    process->service =
        std::make_unique<PodWorkerService>(
            Deps{.env = {.clock = clock,
                         .loop = process->loop,
                         .strands = process->strands,
                         .log = process->log,
                         .metrics = process->registry},
                 .runtime_strands = process->strands,
                 .bus = process->bus,
                 .table = *bus::Own<v1::WorkerRecord>(process->bus, "workers"),
                 .desired = *bus::ViewOf<v1::DesiredRecord>(process->bus, "desired"),
                 .podstatus = *bus::ViewOf<v1::PodStatusRecord>(process->bus, "podstatus"),
                 .runtime = {.reader = runtime,
                             .runner = traced,
                             .remover = runtime,
                             .images = runtime,
                             .long_calls = process->calls,
                             .read_tail = nullptr},
                 .disk = {.files = files,
                          .mounts = mounts,
                          .ownership = ownership,
                          .read_within =
                              [this](const std::string& root, const std::string& path,
                                     uint64_t max_bytes) {
                                return files.Read(root + "/" + path, max_bytes);
                              }},
                 .owner = owner.asked,
                 .events = events,
                 .http = http,
                 .objects = objects,
                 .kernel = &kernel,
                 .slices = &slices,
                 .run_program = run_program,
                 .api_objects = process->api_objects.get(),
                 .programs = run_program == nullptr ? nullptr : &programs,
                 .plugins = plugins_at.empty() ? std::nullopt : std::optional(PluginsOf(*process))},
            config);
    programs.OnEnded([p = process.get()](const std::string& uid) {
      p->loop.Post([p, uid] { p->service->OnVolumeProgramEnded(uid); });
    });
    process->loop.Post([p = process.get()] {
      EXPECT_TRUE(p->service->PrepareCgroups().ok());
      p->service->Start();
      if (p->api_objects)
        p->api_objects->Start([p](const std::string& uid) { p->service->OnObjectsChanged(uid); });
    });
    all.RunUntilIdle();
  }
  /// SIGKILL: nothing of it runs any more.
  void Kill() {
    all.Drop(process->owner);
    process.reset();
  }
  void Restart() {
    Kill();
    Start();
  }
  /// The machine: the others have started again and config-source wants nothing yet; pod-worker is
  /// down.
  void Reboot() {
    Kill();
    clock.SetBoot(clock.Now().boot + 1);
    all.Reboot();
    runtime.Reboot();
    source_bus.reset();
    loop_bus.reset();
    status_bus.reset();
    source_bus = std::make_unique<bus::FakeBus>(network, "config-source", other_loop);
    loop_bus = std::make_unique<bus::FakeBus>(network, "sync-loop", other_loop);
    status_bus = std::make_unique<bus::FakeBus>(network, "status", other_loop);
    desired = *bus::Own<v1::DesiredRecord>(*source_bus, "desired");
    workers = *bus::ViewOf<v1::WorkerRecord>(*loop_bus, "workers");
    podstatus = *bus::Own<v1::PodStatusRecord>(*status_bus, "podstatus");
    CompleteDesired();
  }
  PodWorkerService& service() { return *process->service; }
  void RunFor(Duration duration) { all.Advance(duration); }
  void Settle() { all.RunUntilIdle(); }

  /// status knows these addresses of the node.
  void ShowNode(const std::vector<std::string>& ips) {
    v1::PodStatusRecord record;
    for (const auto& ip : ips) record.mutable_node()->add_host_ips(ip);
    EXPECT_TRUE(podstatus.Put(bus::kNodeKey, record).ok());
  }
  /// config-source shows the pod.
  void Want(const kube::Pod& pod, int64_t incarnation = 1, int64_t generation = 1,
            v1::DesiredRecord::State state = v1::DesiredRecord::WANTED) {
    v1::DesiredRecord record;
    record.set_uid(pod.metadata().uid());
    record.set_name(pod.metadata().name());
    record.set_namespace_(pod.metadata().namespace_());
    record.set_source(kube::SourceOf(pod));
    record.set_incarnation(incarnation);
    record.set_generation(generation);
    record.set_state(state);
    record.set_pod(pod.SerializeAsString());
    owner.known.insert(record.uid());
    owner.records[record.uid()] = std::make_shared<const v1::DesiredRecord>(record);
    EXPECT_TRUE(desired.Put(record.uid(), record).ok());
    Settle();
  }
  void Remove(const kube::Pod& pod, int64_t incarnation = 1) {
    Want(pod, incarnation, 1'000'000, v1::DesiredRecord::REMOVED);
  }
  /// config-source has forgotten the pod.
  void Gone(const std::string& uid, const std::string& traceparent = {}) {
    owner.known.erase(uid);
    desired.Remove(uid, traceparent);
  }
  /// sync-loop grants it; the answer, or UNAVAILABLE when there is none yet.
  Status Grant(const kube::Pod& pod, int64_t incarnation = 1, int64_t generation = 1,
               const std::string& traceparent = {}) {
    v1::UpdatePodRequest request;
    request.set_kind(v1::UpdatePodRequest::CREATE);
    request.set_uid(pod.metadata().uid());
    request.set_incarnation(incarnation);
    request.set_generation(generation);
    request.set_source(kube::SourceOf(pod));
    request.set_pod(pod.SerializeAsString());
    auto answer = std::make_shared<Status>(Unavailable("no answer"));
    Call([this, request, answer, traceparent] {
      service().OnUpdatePod(
          request, [answer](const Status& s) { *answer = s; }, traceparent);
    });
    return *answer;
  }
  Status RunPod(const kube::Pod& pod, int64_t incarnation = 1, int64_t generation = 1) {
    Want(pod, incarnation, generation);
    return Grant(pod, incarnation, generation);
  }
  StatusOr<v1::KillPodReply> KillPod(const v1::KillPodRequest& request,
                                     const std::string& traceparent = {}) {
    auto answer = std::make_shared<StatusOr<v1::KillPodReply>>(Unavailable("no answer"));
    Call([this, request, answer, traceparent] {
      service().OnKillPod(
          request, [answer](auto reply) { *answer = reply; }, traceparent);
    });
    return *answer;
  }
  StatusOr<v1::HoldReply> HoldFor(const v1::HoldRequest& request) {
    auto answer = std::make_shared<StatusOr<v1::HoldReply>>(Unavailable("no answer"));
    Call([this, request, answer] {
      service().OnHoldForRemoval(request, [answer](auto reply) { *answer = reply; });
    });
    return *answer;
  }
  StatusOr<Progress> TakeDownVolumes(const std::string& uid) {
    auto answer = std::make_shared<StatusOr<Progress>>(Unavailable("no answer"));
    Call([this, uid, answer] {
      service().OnTakeDownVolumes(uid, [answer](auto progress) { *answer = progress; });
    });
    return *answer;
  }
  StatusOr<std::vector<std::string>> DiscardRecord(const std::string& uid) {
    auto answer = std::make_shared<StatusOr<std::vector<std::string>>>(Unavailable("no answer"));
    Call([this, uid, answer] {
      service().DiscardRecord(uid, [answer](auto paths) { *answer = std::move(paths); });
    });
    return *answer;
  }
  void Call(exec::Task task) {
    process->loop.Post(std::move(task));
    Settle();
  }
  /// pleg says so.
  void Changed(const std::string& uid = "uid-web") {
    pleg_bus.Signal("pod-changed", uid);
    Settle();
  }
  void Exit(const std::string& name, int32_t code, const std::string& uid = "uid-web") {
    EXPECT_TRUE(runtime.ExitContainer(uid, name, code).ok());
    Changed(uid);
  }

  std::shared_ptr<const v1::WorkerRecord> Record(const std::string& uid = "uid-web") const {
    auto record = workers.Find(uid);
    return record ? record : std::make_shared<const v1::WorkerRecord>();
  }
  const v1::WaitingReason NoteOf(const std::string& container,
                                 const std::string& uid = "uid-web") const {
    const auto record = Record(uid);
    for (const auto& note : record->containers())
      if (note.name() == container) return note;
    return {};
  }
  /// "app/1=running init/0=exited(1)": newest first, of one pod; and its ready sandboxes.
  std::string Show(const std::string& uid = "uid-web") const {
    std::vector<std::string> parts;
    for (const auto& sandbox : runtime.Sandboxes())
      if (sandbox.pod_uid == uid)
        parts.push_back(fmt::format("sandbox/{}={}", sandbox.attempt,
                                    sandbox.state == cri::SandboxState::kReady ? "ready" : "dead"));
    for (const auto& container : runtime.Containers()) {
      if (container.labels.at("io.kubernetes.pod.uid") != uid) continue;
      static constexpr const char* kStates[] = {"created", "running", "exited", "unknown"};
      std::string state = kStates[static_cast<int>(container.state)];
      if (container.state == cri::ContainerState::kExited)
        state += fmt::format("({})", container.exit_code);
      parts.push_back(fmt::format("{}/{}={}", container.name, container.attempt, state));
    }
    std::sort(parts.begin(), parts.end());
    return fmt::format("{}", fmt::join(parts, " "));
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  fs::FakeFileSystem files{clock};
  fs::FakeMounts mounts{files};
  cgroup::FakeKernel kernel{cgroup::FakeKernel::V2()};
  dbus::FakeDaemon system_bus;
  cgroup::FakeSystemd systemd{kernel, cgroup::FakeKernel::V2(),
                              [this](const dbus::Signal& signal) { system_bus.Emit(signal); }};
  cgroup::SystemdSlices slices{clock, system_bus.MakeConnect()};
  fs::FakeOwnership ownership{files};
  cri::FakeRuntime runtime{clock};
  TracedRunner traced{runtime};
  bus::FakeBusNetwork network{clock, 1};
  FakeLogSink sink;
  FakeEvents events;
  Owner owner;
  exec::FakeLoop other_loop{all, all.NewOwner("others")};
  std::unique_ptr<bus::FakeBus> source_bus =
      std::make_unique<bus::FakeBus>(network, "config-source", other_loop);
  std::unique_ptr<bus::FakeBus> loop_bus =
      std::make_unique<bus::FakeBus>(network, "sync-loop", other_loop);
  std::unique_ptr<bus::FakeBus> status_bus =
      std::make_unique<bus::FakeBus>(network, "status", other_loop);
  bus::FakeBus pleg_bus{network, "pleg", other_loop};
  bus::Table<v1::DesiredRecord> desired = *bus::Own<v1::DesiredRecord>(*source_bus, "desired");
  bus::View<v1::WorkerRecord> workers = *bus::ViewOf<v1::WorkerRecord>(*loop_bus, "workers");
  bus::Table<v1::PodStatusRecord> podstatus =
      *bus::Own<v1::PodStatusRecord>(*status_bus, "podstatus");
  Config config;
  std::map<std::string, plugins::Plugin> plugins_at;  // by socket; empty: no plugin can register
  FakeDrivers drivers;
  http::FakeCaller http;  // of servers in pods
  std::function<std::shared_ptr<const ObjectSource>()> objects;
  process::ProgramRunner run_program;
  /// They outlive a pod-worker that is killed.
  process::FakePrograms programs{[this](const auto& program) { return run_program(program); }};
  apiclient::Transport* api = nullptr;  // null: this node has no API server
  ChangeDetection change_detection = ChangeDetection::kWatch;
  Random api_jitter{1};
  std::unique_ptr<Process> process;

 private:
  PluginCalls PluginsOf(Process& p) {
    for (const auto& [socket, plugin] : plugins_at) p.registrars.At(socket).info = plugin;
    return {.registration = p.registrars,
            .make_watcher = [this] { return std::make_unique<fs::FakeFileWatcher>(files); },
            .connect =
                [this, &p](const std::string& socket, const auto& /*on_end*/) {
                  return drivers.Connect(clock, p.loop, socket);
                }};
  }
  void CompleteDesired() { desired.SetComplete({{"file", "api"}, clock.Now(), {}}); }
};

}  // namespace splitlet::pod_worker
