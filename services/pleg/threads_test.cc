#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "libs/bus/fake_bus.h"
#include "libs/cri/fake_event_source.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/loop_thread.h"
#include "libs/exec/on_loop.h"
#include "libs/exec/strand_pool.h"
#include "services/pleg/pleg_service.h"
#include "splitlet/v1/records.pb.h"

/// pleg on real threads: events come from several threads while strands inspect pods.

namespace splitlet::pleg {
namespace {

constexpr Duration kPatience = std::chrono::seconds{60};
constexpr int kRunners = 4;
constexpr int kPodsOfARunner = 25;

class Threads : public testing::Test {
 protected:
  /// Used on the loop only.
  struct Node {
    explicit Node(Threads& test)
        : bus(test.network_, "pleg", test.loop_),
          reader_bus(test.network_, "status", test.loop_),
          view(*bus::ViewOf<v1::RuntimeRecord>(reader_bus, "runtime")) {
      std::vector<NamedSource> sources;
      sources.push_back({"cri", std::make_unique<cri::FakeEventSource>(
                                    test.runtime_, cri::FakeEventSource::Options{})});
      service = std::make_unique<PlegService>(
          PlegDeps{.env = {.clock = test.clock_,
                           .loop = test.loop_,
                           .strands = test.strands_,
                           .log = test.log_,
                           .metrics = test.registry_},
                   .reader = test.runtime_,
                   .read_tail = {},
                   .sources = std::move(sources),
                   .table = *bus::Own<v1::RuntimeRecord>(bus, "runtime"),
                   .bus = bus},
          PlegConfig{});
    }
    bus::FakeBus bus, reader_bus;
    bus::View<v1::RuntimeRecord> view;
    std::unique_ptr<PlegService> service;
  };

  Threads() {
    runtime_.AddImage("busybox");
    loop_thread_ = std::thread([this] { loop_.Run(); });
    OnLoop([this] {
      node_ = std::make_unique<Node>(*this);
      node_->view.OnChange([this](const auto& change) { OnRecord(change.key, change.after); });
      node_->service->Start();
    });
  }
  ~Threads() override {
    strands_.Stop();  // first, as in the process: an inspection under way uses the service
    OnLoop([this] {
      node_.reset();
      loop_.Stop();
    });
    loop_thread_.join();
  }

  void OnLoop(const std::function<void()>& f) { exec::OnLoop(loop_, f); }
  void OnRecord(const std::string& key, const std::shared_ptr<const v1::RuntimeRecord>& record) {
    if (record == nullptr || record->pod().containers().empty() ||
        record->pod().containers(0).state() != v1::ContainerRecord::EXITED)
      return;
    const std::lock_guard lock(mutex_);
    ended_.insert(key);
    changed_.notify_all();
  }
  bool AwaitEnds(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return ended_.size() == count; });
  }
  /// A pod whose container runs and ends.
  void RunPod(const std::string& name) {
    const cri::TestPod pod{name, "uid-" + name};
    const Deadline soon = After(clock_, kPatience);
    const auto sandbox = *runtime_.RunPodSandbox(pod.Config(), "", soon);
    const auto id =
        *runtime_.CreateContainer(sandbox, pod.ContainerConfig("app", 0), pod.Config(), soon);
    EXPECT_TRUE(runtime_.StartContainer(id, soon).ok());
    EXPECT_TRUE(runtime_.StopContainer(id, 0, soon).ok());
  }

  RealClock clock_;
  cri::FakeRuntime runtime_{clock_, {}};
  bus::FakeBusNetwork network_{clock_, 1};
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  exec::LoopThread loop_{clock_};
  exec::StrandPool strands_{exec::StrandPool::Options{}};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> ended_;
  std::unique_ptr<Node> node_;
  std::thread loop_thread_;
};

TEST_F(Threads, EventsFromSeveralAtOnceShowTheEndOfEachPod) {
  std::vector<std::thread> runners;
  for (int runner = 0; runner < kRunners; ++runner)
    runners.emplace_back([this, runner] {
      for (int i = 0; i < kPodsOfARunner; ++i) RunPod(fmt::format("p{}-{}", runner, i));
    });
  for (auto& runner : runners) runner.join();
  EXPECT_TRUE(AwaitEnds(kRunners * kPodsOfARunner))
      << ended_.size() << " pods are reported as ended";
}

}  // namespace
}  // namespace splitlet::pleg
