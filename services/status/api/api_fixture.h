#pragma once

/// The pods of status at an API server, on fakes: a server in memory, and the tables as
/// config-source and pod-worker would have them.
/// Threads: one.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/exec/periodic.h"
#include "libs/fake_api/api_server.h"
#include "libs/peers/fake_desired_owner.h"
#include "services/status/api/pods/pods_at_server.h"

namespace splitlet::status {

inline const std::string kPods = "/api/v1/namespaces/default/pods";

class FakeFinished final : public FinishedPods {
 public:
  StatusOr<std::map<std::string, int64_t>> List(const Deadline&) override {
    ++asked;
    if (!answer.ok()) return answer;
    return finished;
  }
  std::map<std::string, int64_t> finished;
  Status answer;
  int asked = 0;
};

class ApiTest : public ::testing::Test {
 protected:
  struct Process {
    explicit Process(ApiTest& test)
        : owner(test.all.NewOwner("status")),
          loop(test.all, owner),
          strands(loop),
          bus(test.network, "status", loop),
          table(*bus::Own<v1::PodStatusRecord>(bus, "podstatus")),
          desired(*bus::ViewOf<v1::DesiredRecord>(bus, "desired")),
          workers(*bus::ViewOf<v1::WorkerRecord>(bus, "workers")) {
      auto client = std::make_shared<apiclient::Client>(
          test.clock, test.server,
          apiclient::Client::Options{
              .wait = [&all = test.all](Clock::Time until, const std::function<bool()>& done) {
                return all.WaitInStep(until, done);
              }});
      pods = std::make_unique<PodsAtServer>(PodsAtServer::Deps{.env = {.clock = test.clock,
                                                                       .loop = loop,
                                                                       .strands = strands,
                                                                       .log = test.log,
                                                                       .metrics = registry},
                                                               .client = client,
                                                               .events = client,
                                                               .finished = test.finished,
                                                               .owner = test.owner,
                                                               .table = table,
                                                               .desired = desired,
                                                               .workers = workers,
                                                               .node_name = "node-a"});
      desired.OnChange([this](const auto& change) { pods->OnDesired(change.key); });
      workers.OnChange([this](const auto& change) { pods->OnWorker(change.key); });
      desired.OnState([this] { pods->OnViewState(); });
      workers.OnState([this] { pods->OnViewState(); });
      reconcile = std::make_unique<exec::Periodic>(loop, 10s, [this] { pods->OnReconcile(); });
    }
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    bus::FakeBus bus;
    bus::Table<v1::PodStatusRecord> table;
    bus::View<v1::DesiredRecord> desired;
    bus::View<v1::WorkerRecord> workers;
    prometheus::Registry registry;
    std::unique_ptr<PodsAtServer> pods;
    std::unique_ptr<exec::Periodic> reconcile;
  };

  ApiTest()
      : desired_rows(*bus::Own<v1::DesiredRecord>(config_bus, "desired")),
        worker_rows(*bus::Own<v1::WorkerRecord>(worker_bus, "workers")) {
    desired_rows.SetComplete({.scopes = {std::string(bus::kAll)}});
    worker_rows.SetComplete({.scopes = {std::string(bus::kAll)}});
  }
  ~ApiTest() override { FailPoints::SetCurrent(nullptr); }

  /// The process, with a table as StatusTable would fill it.
  void Start() {
    process = std::make_unique<Process>(*this);
    for (const auto& [uid, record] : published) Put(record);
    process->pods->OnNode(node_uid);
    Run(1s);
  }
  void Kill() {
    if (process != nullptr) all.Drop(process->owner);
    process.reset();
  }
  /// As config-source follows the server, and StatusTable follows `desired`.
  void Run(Duration duration) {
    for (Duration past{0}; past < duration; past += 100ms) {
      if (follows) Follow();
      all.Advance(100ms);
    }
  }

  std::string CreatePod(const std::string& name) {
    kube::Pod pod;
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_spec()->set_node_name("node-a");
    auto* container = pod.mutable_spec()->add_containers();
    container->set_name("a");
    container->set_image("x");
    server.Put(kPods + "/" + name, pod);
    if (follows) Follow();
    return AtServer(name).metadata().uid();
  }
  /// A static pod; its UID is its hash, which begins so.
  void WantStatic(const std::string& name, const std::string& hash,
                  v1::DesiredRecord::State state = v1::DesiredRecord::WANTED) {
    kube::Pod pod;
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_metadata()->set_uid(hash);
    (*pod.mutable_metadata()->mutable_annotations())[std::string(kube::kConfigHash)] = hash;
    (*pod.mutable_metadata()->mutable_annotations())[std::string(kube::kConfigSource)] = "file";
    pod.mutable_spec()->set_node_name("node-a");
    auto* container = pod.mutable_spec()->add_containers();
    container->set_name("a");
    container->set_image("x");
    PutDesired(pod, "file", state);
  }
  void Work(const std::string& uid, v1::WorkerState state) {
    v1::WorkerRecord record;
    record.set_uid(uid);
    record.set_incarnation(1);
    record.set_state(state);
    ASSERT_TRUE(worker_rows.Put(uid, record).ok());
  }

  static kube::PodStatus MakeStatus(const std::string& phase) {
    kube::PodStatus status;
    status.set_phase(phase);
    status.mutable_start_time()->set_seconds(1'767'225'600);
    status.set_pod_ip("10.0.0.7");
    status.add_pod_ips()->set_ip("10.0.0.7");
    for (const char* type : {"Ready", "ContainersReady", "PodScheduled"}) {
      auto* condition = status.add_conditions();
      condition->set_type(type);
      const bool is_true = phase == "Running" || std::string(type) == "PodScheduled";
      condition->set_status(is_true ? "True" : "False");
      condition->mutable_last_transition_time()->set_seconds(1'767'225'601);
    }
    auto* container = status.add_container_statuses();
    container->set_name("a");
    container->set_image("x");
    container->set_ready(phase == "Running");
    if (phase == "Running") {
      container->mutable_state()->mutable_running()->mutable_started_at()->set_seconds(
          1'767'225'601);
    } else if (phase == "Pending") {
      container->mutable_state()->mutable_waiting()->set_reason("ContainerCreating");
    } else {
      container->mutable_state()->mutable_terminated()->set_exit_code(phase == "Failed" ? 1 : 0);
    }
    return status;
  }
  void Publish(const std::string& uid, const std::string& name, const kube::PodStatus& status,
               bool deletable = false) {
    v1::PodStatusRecord record;
    record.set_uid(uid);
    record.set_name(name);
    record.set_namespace_("default");
    record.set_source(uid.starts_with("hash") ? "file" : "api");
    record.set_incarnation(1);
    record.set_version(++version);
    record.set_status(status.SerializeAsString());
    record.set_deletable(deletable);
    published[uid] = record;
    if (process != nullptr) Put(record);
  }
  void Publish(const std::string& uid, const std::string& name, const std::string& phase,
               bool deletable = false) {
    Publish(uid, name, MakeStatus(phase), deletable);
  }
  /// pod-worker has ended it.
  void Finish(const std::string& uid, const std::string& name, const std::string& phase) {
    finished->finished[uid] = 1;
    Publish(uid, name, phase, true);
  }

  kube::Pod AtServer(const std::string& name) const {
    kube::Pod pod;
    server.Get(kPods + "/" + name, pod);
    return pod;
  }
  /// Calls like "PATCH /api/v1/..." since the last call of Calls: those of `method`, or without it
  /// all except GET.
  std::vector<std::string> Calls(const std::string& method = "") {
    std::vector<std::string> calls;
    for (auto& seen : server.TakeSeen()) {
      if (method.empty() ? seen.method == "GET" : seen.method != method) continue;
      calls.push_back(seen.method + " " + seen.path);
      last_body = seen.body;
    }
    return calls;
  }
  void PutDesired(const kube::Pod& pod, const std::string& source, v1::DesiredRecord::State state) {
    v1::DesiredRecord record;
    record.set_uid(pod.metadata().uid());
    record.set_name(pod.metadata().name());
    record.set_namespace_(pod.metadata().namespace_());
    record.set_source(source);
    record.set_state(state);
    record.set_incarnation(1);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired_rows.Put(record.uid(), record).ok());
  }
  void Follow() {
    std::set<std::string> there;
    for (const auto& path : server.List(kPods)) {
      kube::Pod pod;
      if (!server.Get(path, pod)) continue;
      there.insert(pod.metadata().uid());
      PutDesired(pod, "api",
                 kube::IsMirror(pod) ? v1::DesiredRecord::MIRROR : v1::DesiredRecord::WANTED);
    }
    for (const auto& uid : followed)
      if (!there.contains(uid)) Forget(uid);
    followed = there;
  }
  void Forget(const std::string& uid) {
    desired_rows.Remove(uid);
    if (published.erase(uid) == 0 || process == nullptr) return;
    process->table.Remove(uid);
    process->pods->OnStatus(uid);
  }
  void Put(const v1::PodStatusRecord& record) {
    ASSERT_TRUE(process->table.Put(record.uid(), record).ok());
    process->loop.Post([this, uid = record.uid()] { process->pods->OnStatus(uid); });
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  exec::FakeLoop other_loop{all, all.NewOwner("others")};
  bus::FakeBusNetwork network{clock, 1};
  bus::FakeBus config_bus{network, "config-source", other_loop};
  bus::FakeBus worker_bus{network, "pod-worker", other_loop};
  bus::Table<v1::DesiredRecord> desired_rows;
  bus::Table<v1::WorkerRecord> worker_rows;
  fake_api::FakeApiServer server{clock, {.ticks = true}};
  std::shared_ptr<FakeFinished> finished = std::make_shared<FakeFinished>();
  bool static_known = false;  // as config-source answers when it is asked
  std::shared_ptr<peers::DesiredOwner> owner = std::make_shared<peers::FakeDesiredOwner>(
      [this](const std::string&, const Deadline&) -> StatusOr<bool> { return static_known; });
  FakeLogSink log_sink;
  const Log log{log_sink};
  std::string node_uid = "node-uid";
  std::map<std::string, v1::PodStatusRecord> published;
  std::set<std::string> followed;
  bool follows = true;
  uint64_t version = 0;
  std::string last_body;
  std::unique_ptr<Process> process;
};

}  // namespace splitlet::status
