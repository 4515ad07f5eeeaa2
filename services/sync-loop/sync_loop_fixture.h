#pragma once

/// sync-loop on virtual time, between fake owners of the tables that it views. For its tests.
/// Threads: one.
/// Errors: EXPECT and ASSERT of GoogleTest.

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/kube/codec.h"
#include "libs/peers/fake_desired_owner.h"
#include "libs/peers/fake_pod_worker.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {

inline constexpr const char* kOurs = "state-1/n1";

/// A process of the node, as far as sync-loop sees it: the owner of a table.
template <class Record>
struct Owner {
  Owner(bus::FakeBusNetwork& network, const char* process, const char* name, exec::EventLoop& loop)
      : bus(network, process, loop), table(*bus::Own<Record>(bus, name)) {}
  void Complete() { table.SetComplete({.scopes = {std::string(bus::kAll)}}); }
  bus::FakeBus bus;
  bus::Table<Record> table;
};

struct ConfigAnswer {
  StatusOr<bool> known = false;
  int asked = 0;
};

class FakeEvents final : public daemon::EventRecorder {
 public:
  void Record(daemon::PodEvent event) override {
    all.push_back(event.reason + ": " + event.message);
  }
  std::vector<std::string> all;
};

/// sync-loop between the owners of the tables it views; it can be crashed and started again.
class Node {
 public:
  Node() {
    desired.Complete();
    workers.Complete();
    runtime.Complete();
    Settle();
  }

  ~Node() {
    Crash();
    for (const auto& line : log_sink.lines())
      EXPECT_NE(line.message, "allocated resources were wrong, recomputed");
  }

  void StartLoop(bool kill_unmanaged = false) {
    loop_ = std::make_unique<exec::FakeLoop>(scheduler_, scheduler_.NewOwner("sync-loop"));
    strands_ = std::make_unique<exec::FakeStrands>(*loop_);
    bus_ = std::make_unique<bus::FakeBus>(network, "sync-loop", *loop_);
    registry_ = std::make_unique<prometheus::Registry>();
    SyncLoopDeps deps{.env = {.clock = clock,
                              .loop = *loop_,
                              .strands = *strands_,
                              .log = log,
                              .metrics = *registry_},
                      .files = files,
                      .table = *bus::Own<v1::AdmissionRecord>(*bus_, "admission"),
                      .desired = *bus::ViewOf<v1::DesiredRecord>(*bus_, "desired"),
                      .workers = *bus::ViewOf<v1::WorkerRecord>(*bus_, "workers"),
                      .runtime = *bus::ViewOf<v1::RuntimeRecord>(*bus_, "runtime"),
                      .pressure = *bus::ViewOf<v1::PressureRecord>(*bus_, "pressure"),
                      .podstatus = *bus::ViewOf<v1::PodStatusRecord>(*bus_, "podstatus"),
                      .worker = worker.NewClient(),
                      .config_source = std::make_unique<peers::FakeDesiredOwner>(
                          [this](const std::string&, const Deadline&) {
                            ++config.asked;
                            return config.known;
                          }),
                      .events = events};
    service = std::make_unique<SyncLoopService>(
        std::move(deps), SyncLoopConfig{.node_name = "n1",
                                        .node_annotation = kOurs,
                                        .admissions_dir = "/run/sync-loop/admission",
                                        .kernel_release = "6.1.0",
                                        .kill_unmanaged_pods = kill_unmanaged,
                                        .offline_start = offline_start});
    service->Start();
  }
  void Crash() {
    service.reset();
    bus_.reset();
    strands_.reset();
    loop_.reset();
  }
  void Restart() {
    Crash();
    StartLoop();
    Settle();
  }
  void Settle() { scheduler_.Advance(300ms); }
  void Advance(Duration d) { scheduler_.Advance(d); }

  struct Want {
    std::string uid;
    std::string spec = "containers: [{name: c}]";
    std::string source = "api";
    std::string metadata;
    int64_t incarnation = 1;
    int64_t generation = 1;
    v1::DesiredRecord::State state = v1::DesiredRecord::WANTED;
    int64_t created = 0;
    std::string traceparent;
    std::string name;  // empty: the UID
  };
  void Put(const Want& want) {
    const std::string& name = want.name.empty() ? want.uid : want.name;
    kube::Pod pod;
    const std::string yaml = "metadata: {name: " + name + ", namespace: default, uid: " + want.uid +
                             ", annotations: {kubernetes.io/config.source: " + want.source + "}" +
                             want.metadata + "}\nspec: {" + want.spec + "}";
    const auto decoded = kube::DecodeInto(yaml, want.uid, kube::Strictness::kStrict, pod);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    if (want.created != 0)
      pod.mutable_metadata()->mutable_creation_timestamp()->set_seconds(want.created);
    v1::DesiredRecord record;
    record.set_uid(want.uid);
    record.set_name(name);
    record.set_namespace_("default");
    record.set_source(want.source);
    record.set_incarnation(want.incarnation);
    record.set_generation(want.generation);
    record.set_state(want.state);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired.table.Put(want.uid, record, want.traceparent).ok());
  }
  void PutNode(const std::string& cpu = "1", const std::string& zone = "a") {
    v1::PodStatusRecord record;
    record.mutable_node()->set_registered(registered);
    (*record.mutable_node()->mutable_labels())["zone"] = zone;
    (*record.mutable_node()->mutable_allocatable())["cpu"] = cpu;
    (*record.mutable_node()->mutable_allocatable())["memory"] = "1Gi";
    (*record.mutable_node()->mutable_allocatable())["pods"] = "110";
    *record.mutable_node()->mutable_features() = features;
    ASSERT_TRUE(podstatus.table.Put("node", record).ok());
  }
  void PutRuntime(const std::string& uid, const std::string& annotation, bool ready = true,
                  const std::string& traceparent = "") {
    v1::RuntimeRecord record;
    record.mutable_pod()->set_uid(uid);
    auto* sandbox = record.mutable_pod()->add_sandboxes();
    sandbox->set_id("s-" + uid);
    sandbox->set_state(ready ? v1::SandboxRecord::READY : v1::SandboxRecord::NOT_READY);
    sandbox->set_node_annotation(annotation);
    auto* container = record.mutable_pod()->add_containers();
    container->set_id("c-" + uid);
    container->set_state(ready ? v1::ContainerRecord::RUNNING : v1::ContainerRecord::EXITED);
    container->set_grace_period_seconds(7);
    ASSERT_TRUE(runtime.table.Put(uid, record, traceparent).ok());
  }
  std::optional<v1::WorkerRecord> FindWorker(const std::string& uid) {
    const auto record = workers.table.Get(uid);
    return record == nullptr ? std::nullopt : std::optional(*record);
  }
  void PutWorker(const v1::WorkerRecord& record) {
    EXPECT_TRUE(workers.table.Put(record.uid(), record).ok());
  }
  size_t CountLines(const std::string& message) const {
    const auto lines = log_sink.lines();
    return static_cast<size_t>(std::ranges::count(lines, message, &FakeLogSink::Line::message));
  }
  /// A counter of the present start of sync-loop, of a family with at most one label.
  double Counter(const std::string& name, const std::string& label = "") const {
    for (const auto& family : registry_->Collect())
      for (const auto& metric : family.metric)
        if (family.name == name &&
            (label.empty() || (!metric.label.empty() && metric.label[0].value == label)))
          return metric.counter.value;
    return 0;
  }
  /// The pod's record in the table `admission`, read through a view of its own.
  std::string Decision(const std::string& uid) {
    bus::FakeBus reader(network, "reader", owners);
    auto view = *bus::ViewOf<v1::AdmissionRecord>(reader, "admission");
    Settle();
    const auto record = view.Find(uid);
    if (record == nullptr) return "none";
    if (record->decision() == v1::AdmissionRecord::ADMITTED) return "admitted";
    const bool waits = record->decision() == v1::AdmissionRecord::WAITING;
    return (waits ? "waiting, " : "") + record->reason() + ": " + record->message();
  }
  std::vector<std::string> Calls() {
    Settle();
    return worker.TakeCalls();
  }

  FakeClock clock;
  exec::Scheduler scheduler_{clock};
  exec::FakeLoop owners{scheduler_, scheduler_.NewOwner("owners")};
  bus::FakeBusNetwork network{clock, 1};
  Owner<v1::DesiredRecord> desired{network, "config-source", "desired", owners};
  Owner<v1::WorkerRecord> workers{network, "pod-worker", "workers", owners};
  Owner<v1::RuntimeRecord> runtime{network, "pleg", "runtime", owners};
  Owner<v1::PodStatusRecord> podstatus{network, "status", "podstatus", owners};
  Owner<v1::PressureRecord> pressure{network, "gc", "pressure", owners};
  fs::FakeFileSystem files{clock};
  FakeLogSink log_sink;
  const Log log{log_sink};
  FakeEvents events;
  peers::FakePodWorker worker{
      {.find = [this](const std::string& uid) { return FindWorker(uid); },
       .put = [this](const v1::WorkerRecord& record) { PutWorker(record); }}};
  v1::NodeFeatures features;   // for the next PutNode
  bool registered = true;      // for the next PutNode
  bool offline_start = false;  // from the next start on
  ConfigAnswer config;
  std::unique_ptr<SyncLoopService> service;

 private:
  std::unique_ptr<prometheus::Registry> registry_;
  std::unique_ptr<exec::FakeLoop> loop_;
  std::unique_ptr<exec::FakeStrands> strands_;
  std::unique_ptr<bus::FakeBus> bus_;
};

}  // namespace splitlet::sync_loop
