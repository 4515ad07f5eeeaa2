#pragma once

/// A node around the service `status`, on fakes: the tables of the others, what processes answer,
/// files.
/// Threads: one.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "services/status/status_service.h"

namespace splitlet::status {

/// Answers of the processes; shared over restarts.
struct Answers {
  std::set<std::string> dead;
  bool pleg_healthy = true;
  bool runtime_known = true;
  bool runtime_down = false;
  bool network_ready = true;
  int pleg_asked = 0;
};

class FakePeers final : public peers::PeerHealth {
 public:
  explicit FakePeers(Answers& answers) : answers_(answers) {}
  StatusOr<peers::PeerAnswer> Ask(const std::string& process, Deadline) override {
    if (answers_.dead.contains(process)) return Unavailable("connection refused");
    peers::PeerAnswer answer;
    if (process != "pleg") return answer;
    ++answers_.pleg_asked;
    std::vector<std::string> errors;
    if (answers_.runtime_down) errors.emplace_back("container runtime is down");
    if (!answers_.pleg_healthy) errors.emplace_back("PLEG is not healthy: relist is stuck");
    answer.healthy = errors.empty();
    answer.reason = fmt::format("{}", fmt::join(errors, ", "));
    answer.runtime = peers::RuntimeState{.pleg_errors = std::move(errors)};
    if (!answers_.runtime_known) return answer;
    answer.runtime->name = "containerd";
    answer.runtime->version = "1.7.0";
    answer.runtime->known = true;
    answer.runtime->features.set_known(true);
    answer.runtime->features.set_supplemental_groups_policy(true);
    answer.runtime->features.add_handlers()->set_user_namespaces(true);
    answer.runtime->down = answers_.runtime_down;
    answer.runtime->conditions = {{.type = "RuntimeReady", .status = true},
                                  {.type = "NetworkReady", .status = answers_.network_ready}};
    return answer;
  }

 private:
  Answers& answers_;
};

class StatusServiceTest : public ::testing::Test {
 protected:
  struct Process {
    explicit Process(StatusServiceTest& node)
        : owner(node.all.NewOwner("status")),
          loop(node.all, owner),
          strands(loop),
          bus(node.network, "status", loop) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    bus::FakeBus bus;
    prometheus::Registry registry;
    std::unique_ptr<StatusService> service;
  };
  template <class R>
  struct Owner {
    Owner(StatusServiceTest& node, const std::string& process, const std::string& table)
        : bus(node.network, process, node.other_loop), rows(*bus::Own<R>(bus, table)) {}
    bus::FakeBus bus;
    bus::Table<R> rows;
    void Complete(Clock::Time observed_at = {}) {
      rows.SetComplete({.scopes = {std::string(bus::kAll)}, .observed_at = observed_at});
    }
  };

  StatusServiceTest() {
    EXPECT_TRUE(files.Replace("/sys/devices/system/cpu/online", "0-3", {}).ok());
    EXPECT_TRUE(files.Replace("/proc/meminfo", "MemTotal: 8388608 kB\n", {}).ok());
    EXPECT_TRUE(files.Replace("/proc/sys/kernel/hostname", "machine\n", {}).ok());
    EXPECT_TRUE(files.MakeDirs("/state", 0700).ok());
    files.SetUsage("/", {.capacity_bytes = 1ULL << 40});
    config.node_name = "node-a";
    config.root_dir = "/kubelet";
    desired = std::make_unique<Owner<v1::DesiredRecord>>(*this, "config-source", "desired");
    admission = std::make_unique<Owner<v1::AdmissionRecord>>(*this, "sync-loop", "admission");
    workers = std::make_unique<Owner<v1::WorkerRecord>>(*this, "pod-worker", "workers");
    runtime = std::make_unique<Owner<v1::RuntimeRecord>>(*this, "pleg", "runtime");
    pressure = std::make_unique<Owner<v1::PressureRecord>>(*this, "gc", "pressure");
    podstatus = std::make_unique<bus::View<v1::PodStatusRecord>>(
        *bus::ViewOf<v1::PodStatusRecord>(desired->bus, "podstatus"));
  }
  void SetUp() override {
    desired->Complete();
    admission->Complete();
    workers->Complete();
    runtime->Complete(clock.Now());
    pressure->Complete();
  }
  void Start() {
    process = std::make_unique<Process>(*this);
    auto& bus = process->bus;
    StatusDeps deps{.env = {.clock = clock,
                            .loop = process->loop,
                            .strands = process->strands,
                            .log = log,
                            .metrics = process->registry},
                    .files = files,
                    .table = *bus::Own<v1::PodStatusRecord>(bus, "podstatus"),
                    .desired = *bus::ViewOf<v1::DesiredRecord>(bus, "desired"),
                    .admission = *bus::ViewOf<v1::AdmissionRecord>(bus, "admission"),
                    .workers = *bus::ViewOf<v1::WorkerRecord>(bus, "workers"),
                    .runtime = *bus::ViewOf<v1::RuntimeRecord>(bus, "runtime"),
                    .pressure = *bus::ViewOf<v1::PressureRecord>(bus, "pressure"),
                    .peers = std::make_unique<FakePeers>(answers),
                    .list_addresses = [] { return std::vector<node::InterfaceAddress>(); }};
    AddApi(deps);
    process->service = std::make_unique<StatusService>(std::move(deps), config);
    process->loop.Post([this] { process->service->Start(); });
    Settle();
  }
  /// Standalone, unless a test has an API server.
  virtual void AddApi(StatusDeps& /*deps*/) {}
  void Crash() {
    all.Drop(process->owner);
    process.reset();
  }
  void Settle() { all.Advance(2s); }

  void Want(const std::string& uid, int64_t incarnation = 1, const std::string& trace = "",
            v1::DesiredRecord::State state = v1::DesiredRecord::WANTED) {
    kube::Pod pod;
    pod.mutable_metadata()->set_name("web");
    pod.mutable_metadata()->set_uid(uid);
    pod.mutable_spec()->set_restart_policy("Always");
    auto* container = pod.mutable_spec()->add_containers();
    container->set_name("a");
    container->set_image("x");
    v1::DesiredRecord record;
    record.set_uid(uid);
    record.set_name("web");
    record.set_namespace_("default");
    record.set_source("file");
    record.set_state(state);
    record.set_incarnation(incarnation);
    record.set_generation(incarnation);
    record.set_seen_at_wall_ns(ToNanos(clock.WallNow()));
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired->rows.Put(uid, record, trace).ok());
  }
  void Work(const std::string& uid, v1::WorkerState state, int64_t incarnation = 1) {
    v1::WorkerRecord record;
    record.set_uid(uid);
    record.set_incarnation(incarnation);
    record.set_state(state);
    record.set_granted(true);
    record.mutable_last_action_at()->set_boot(clock.Now().boot);
    record.mutable_last_action_at()->set_monotonic_ns(clock.Now().monotonic.count());
    ASSERT_TRUE(workers->rows.Put(uid, record).ok());
  }
  /// `phases`: all that are shown of it, also after the next start.
  void ShowARefusedPodUntilACrash(std::vector<std::string>& phases) {
    CollectPhases(phases);
    Want("u1");
    Reject("u1");
    Start();
    Crash();
  }
  /// The answer of sync-loop to the first incarnation of the pod.
  void Reject(const std::string& uid, const std::string& reason = "") {
    v1::AdmissionRecord record;
    record.set_uid(uid);
    record.set_incarnation(1);
    record.set_decision(v1::AdmissionRecord::REJECTED);
    record.set_reason(reason);
    ASSERT_TRUE(admission->rows.Put(uid, record).ok());
  }
  void Decide(const std::string& uid, v1::WorkerState state, const std::string& phase) {
    v1::WorkerRecord record;
    record.set_uid(uid);
    record.set_incarnation(1);
    record.set_state(state);
    record.mutable_terminal_status()->set_phase(phase);
    ASSERT_TRUE(workers->rows.Put(uid, record).ok());
  }
  /// Collects the phases of u1 that are published from now on.
  void CollectPhases(std::vector<std::string>& phases) {
    podstatus->OnChange([this, &phases](const auto& change) {
      if (change.key == "u1") phases.push_back(Shown("u1").phase());
    });
  }
  void Observe(const std::string& uid, bool with_container) {
    v1::RuntimeRecord record;
    auto& pod = *record.mutable_pod();
    pod.set_uid(uid);
    pod.set_runtime_name("containerd");
    auto* sandbox = pod.add_sandboxes();
    sandbox->set_id("s1");
    sandbox->set_state(v1::SandboxRecord::READY);
    sandbox->add_ips("10.0.0.9");
    if (with_container) {
      auto* container = pod.add_containers();
      container->set_id("c1");
      container->set_name("a");
      container->set_sandbox_id("s1");
      container->set_state(v1::ContainerRecord::RUNNING);
    }
    ASSERT_TRUE(runtime->rows.Put(uid, record).ok());
  }
  kube::PodStatus Shown(const std::string& uid) {
    kube::PodStatus status;
    const auto record = podstatus->Find(uid);
    if (record != nullptr) {
      EXPECT_TRUE(status.ParseFromString(record->status()));
    }
    return status;
  }
  const v1::NodeCondition& NodeReady() {
    node = podstatus->Find("node");
    static const v1::NodeCondition none;
    if (node == nullptr) return none;
    for (const auto& condition : node->node().conditions())
      if (condition.type() == "Ready") return condition;
    return none;
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  exec::FakeLoop other_loop{all, all.NewOwner("others")};
  bus::FakeBusNetwork network{clock, 1};
  fs::FakeFileSystem files{clock};
  FakeLogSink log_sink;
  const Log log{log_sink};
  Answers answers;
  StatusConfig config;
  std::unique_ptr<Owner<v1::DesiredRecord>> desired;
  std::unique_ptr<Owner<v1::AdmissionRecord>> admission;
  std::unique_ptr<Owner<v1::WorkerRecord>> workers;
  std::unique_ptr<Owner<v1::RuntimeRecord>> runtime;
  std::unique_ptr<Owner<v1::PressureRecord>> pressure;
  std::unique_ptr<bus::View<v1::PodStatusRecord>> podstatus;
  bus::View<v1::PodStatusRecord>::Record node;
  std::unique_ptr<Process> process;
};

}  // namespace splitlet::status
