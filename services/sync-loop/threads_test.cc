#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "libs/exec/loop_thread.h"
#include "libs/exec/on_loop.h"
#include "libs/exec/strand_pool.h"
#include "services/sync-loop/sync_loop_fixture.h"
#include "splitlet/v1/services.pb.h"

/// sync-loop on real threads: files are written and pod-worker is called on strands, for many pods
/// at the same time.

namespace splitlet::sync_loop {
namespace {

constexpr Duration kPatience = std::chrono::seconds{60};
constexpr int kPods = 100;

/// pod-worker that refuses each pod once, and the pods that it has then accepted.
/// Threads: any.
class BusyWorker {
 public:
  BusyWorker() {
    worker_.on_call = [this](const std::string& uid) { return RefuseOnce(uid); };
  }
  std::unique_ptr<peers::GrantClient> NewClient() { return worker_.NewClient(); }
  bool AwaitTaken(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return taken_.size() == count; });
  }

 private:
  Status RefuseOnce(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    return refused_.insert(uid).second ? Unavailable("busy") : OkStatus();
  }
  void OnTaken(const v1::WorkerRecord& record) {
    const std::lock_guard lock(mutex_);
    taken_.insert(record.uid());
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> refused_, taken_;
  peers::FakePodWorker worker_{
      {.find = [](const std::string&) { return std::nullopt; },
       .put = [this](const v1::WorkerRecord& record) { OnTaken(record); }}};
};

class Threads : public testing::Test {
 protected:
  /// Used on the loop only.
  struct Parts {
    explicit Parts(Threads& test)
        : desired(test.network_, "config-source", "desired", test.loop_),
          workers(test.network_, "pod-worker", "workers", test.loop_),
          runtime(test.network_, "pleg", "runtime", test.loop_),
          podstatus(test.network_, "status", "podstatus", test.loop_),
          pressure(test.network_, "gc", "pressure", test.loop_),
          bus(test.network_, "sync-loop", test.loop_),
          service({.env = {.clock = test.clock_,
                           .loop = test.loop_,
                           .strands = test.strands_,
                           .log = test.log_,
                           .metrics = test.registry_},
                   .files = test.files_,
                   .table = *bus::Own<v1::AdmissionRecord>(bus, "admission"),
                   .desired = *bus::ViewOf<v1::DesiredRecord>(bus, "desired"),
                   .workers = *bus::ViewOf<v1::WorkerRecord>(bus, "workers"),
                   .runtime = *bus::ViewOf<v1::RuntimeRecord>(bus, "runtime"),
                   .pressure = *bus::ViewOf<v1::PressureRecord>(bus, "pressure"),
                   .podstatus = *bus::ViewOf<v1::PodStatusRecord>(bus, "podstatus"),
                   .worker = test.worker_.NewClient(),
                   .config_source = std::make_unique<peers::FakeDesiredOwner>(
                       [](const std::string&, const Deadline&) { return true; }),
                   .events = test.events_},
                  {.node_name = "n1",
                   .node_annotation = kOurs,
                   .admissions_dir = "/run/sync-loop/admission",
                   .kernel_release = "6.1.0"}) {
      desired.Complete();
      workers.Complete();
      runtime.Complete();
      service.Start();
    }
    void Want(const std::string& uid) {
      kube::Pod pod;
      pod.mutable_metadata()->set_name(uid);
      pod.mutable_metadata()->set_namespace_("default");
      pod.mutable_metadata()->set_uid(uid);
      pod.mutable_spec()->add_containers()->set_name("c");
      v1::DesiredRecord record;
      record.set_uid(uid);
      record.set_name(uid);
      record.set_namespace_("default");
      record.set_source("api");
      record.set_incarnation(1);
      record.set_generation(1);
      record.set_state(v1::DesiredRecord::WANTED);
      record.set_pod(pod.SerializeAsString());
      EXPECT_TRUE(desired.table.Put(uid, record).ok());
    }
    void PutNode() {
      v1::PodStatusRecord record;
      record.mutable_node()->set_registered(true);
      auto& allocatable = *record.mutable_node()->mutable_allocatable();
      allocatable["cpu"] = "1";
      allocatable["memory"] = "1Gi";
      allocatable["pods"] = std::to_string(kPods);
      EXPECT_TRUE(podstatus.table.Put("node", record).ok());
    }
    Owner<v1::DesiredRecord> desired;
    Owner<v1::WorkerRecord> workers;
    Owner<v1::RuntimeRecord> runtime;
    Owner<v1::PodStatusRecord> podstatus;
    Owner<v1::PressureRecord> pressure;
    bus::FakeBus bus;
    SyncLoopService service;
  };

  Threads() : thread_([this] { loop_.Run(); }) {
    OnLoop([this] { parts_ = std::make_unique<Parts>(*this); });
  }
  ~Threads() override {
    strands_.Stop();
    OnLoop([this] {
      parts_.reset();
      loop_.Stop();
    });
    thread_.join();
  }
  void OnLoop(const std::function<void()>& f) { exec::OnLoop(loop_, f); }

  RealClock clock_;
  bus::FakeBusNetwork network_{clock_, 1};
  fs::FakeFileSystem files_{clock_};
  FakeLogSink sink_;
  const Log log_{sink_};
  FakeEvents events_;
  prometheus::Registry registry_;
  BusyWorker worker_;
  exec::LoopThread loop_{clock_};
  exec::StrandPool strands_{exec::StrandPool::Options{}};
  std::unique_ptr<Parts> parts_;
  std::thread thread_;
};

TEST_F(Threads, ManyPodsAtOnceAreAllGrantedThoughEachCallIsRefusedOnce) {
  OnLoop([this] {
    parts_->PutNode();
    for (int i = 0; i < kPods; ++i) parts_->Want(fmt::format("p{}", i));
  });
  EXPECT_TRUE(worker_.AwaitTaken(kPods));
  OnLoop([this] { EXPECT_EQ(parts_->service.GetState().admitted, size_t{kPods}); });
}

}  // namespace
}  // namespace splitlet::sync_loop
