#pragma once

/// pleg whole, on fakes, for its tests: runtime, bus, loop and strands on virtual time, with a
/// reader of `runtime` beside it.
/// Threads: one; nothing fails.

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/trace.h"
#include "libs/bus/fake_bus.h"
#include "libs/cri/fake_event_source.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"
#include "services/pleg/pleg_service.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pleg {

enum class Streams { kNone, kCri, kContainerd, kAbsent };

/// A call that takes time keeps only its own strand busy.
class ChargingWaiter final : public cri::Waiter {
 public:
  explicit ChargingWaiter(exec::Scheduler& scheduler) : scheduler_(scheduler) {}
  void WaitFor(Duration max, const std::function<bool()>& done) override {
    if (!done()) scheduler_.Charge(max);
  }

 private:
  exec::Scheduler& scheduler_;
};

class PlegTest : public ::testing::Test {
 protected:
  struct Process {
    Process(PlegTest& test, Streams streams)
        : owner(test.all_.NewOwner("pleg")),
          loop(test.all_, owner),
          strands(loop),
          bus(test.network_, "pleg", loop) {
      std::vector<NamedSource> sources;
      if (streams == Streams::kCri) sources.push_back({"cri", Source(test, {})});
      if (streams == Streams::kContainerd) {
        sources.push_back({"cri", Source(test, {.unimplemented = true})});
        sources.push_back({"containerd", Source(test, {.ids_only = true})});
      }
      if (streams == Streams::kAbsent) {
        auto cri = Source(test, {.unimplemented = true});
        absent = cri.get();
        sources.push_back({"cri", std::move(cri)});
        sources.push_back({"containerd", Source(test, {.unimplemented = true})});
      }
      PlegDeps deps{.env = {.clock = test.clock_,
                            .loop = loop,
                            .strands = strands,
                            .log = test.log_,
                            .metrics = registry},
                    .reader = test.runtime_,
                    .read_tail = {},
                    .sources = std::move(sources),
                    .table = *bus::Own<v1::RuntimeRecord>(bus, "runtime"),
                    .bus = bus};
      service = std::make_unique<PlegService>(std::move(deps), PlegConfig{});
      loop.Post([this] { service->Start(); });
    }
    static std::unique_ptr<cri::FakeEventSource> Source(PlegTest& test,
                                                        cri::FakeEventSource::Options options) {
      return std::make_unique<cri::FakeEventSource>(test.runtime_, options);
    }
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    bus::FakeBus bus;
    prometheus::Registry registry;
    cri::FakeEventSource* absent = nullptr;  // CRI's of Streams::kAbsent
    std::unique_ptr<PlegService> service;
  };

  PlegTest() {
    reader_bus_.OnSignal("pleg", "pod-changed",
                         [this](const std::string& uid) { signals_.insert(uid); });
  }
  void Start(Streams streams) {
    pleg_ = std::make_unique<Process>(*this, streams);
    RunFor(50ms);
  }
  void Kill() {
    all_.Drop(pleg_->owner);
    pleg_.reset();
  }
  void RunFor(Duration d) { all_.Advance(d); }
  Deadline Soon() { return After(clock_, 60s); }
  /// Lines of at least Info that begin so.
  long Logged(const std::string& message) const {
    return std::ranges::count_if(sink_.lines(), [&message](const FakeLogSink::Line& line) {
      return line.level != LogLevel::kDebug && line.message.starts_with(message);
    });
  }
  /// A pod with one running container.
  cri::SandboxId RunPod(const std::string& name, uint32_t attempt = 0) {
    cri::TestPod pod{name, "uid-" + name};
    pod.attempt = attempt;
    runtime_.AddImage("busybox");
    const auto sandbox = *runtime_.RunPodSandbox(pod.Config(), "", Soon());
    const auto id = *runtime_.CreateContainer(sandbox, pod.ContainerConfig("app", attempt),
                                              pod.Config(), Soon());
    EXPECT_TRUE(runtime_.StartContainer(id, Soon()).ok());
    return sandbox;
  }
  std::shared_ptr<const v1::RuntimeRecord> Find(const std::string& name) {
    return view_.Find("uid-" + name);
  }
  /// State of the newest container; -1 without record or container.
  int StateOf(const std::string& name) {
    const auto record = Find(name);
    return record == nullptr || record->pod().containers().empty()
               ? -1
               : record->pod().containers(0).state();
  }
  /// The table shows what the runtime shows, and vouches for all pods.
  void ExpectTrue() {
    std::set<std::string> uids;
    for (const auto& sandbox : runtime_.Sandboxes()) uids.insert(sandbox.pod_uid);
    EXPECT_EQ(view_.size(), uids.size());
    EXPECT_TRUE(view_.LiveAndComplete());
    EXPECT_TRUE(view_.completeness().not_vouched.empty());
    for (const auto& container : runtime_.Containers()) {
      const auto record = view_.Find(container.labels.at("io.kubernetes.pod.uid"));
      ASSERT_NE(record, nullptr);
      const auto& known = record->pod().containers();
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const auto& c) { return c.id() == container.id.str(); });
      ASSERT_NE(found, known.end());
      EXPECT_EQ(found->state() == v1::ContainerRecord::EXITED,
                container.state == cri::ContainerState::kExited);
    }
  }
  std::string Scrape() { return prometheus::TextSerializer().Serialize(pleg_->registry.Collect()); }
  bool Scraped(const std::string& line) { return Scrape().find(line + "\n") != std::string::npos; }
  StatusOr<v1::RuntimeRecord> Ask(const std::string& name, Duration wait) {
    StatusOr<v1::RuntimeRecord> answer = Unavailable("no answer yet");
    pleg_->loop.Post([&] {
      pleg_->service->OnGetPodStatus("uid-" + name, [&](const auto& record) {
        if (record.ok())
          answer = **record;
        else
          answer = record.status();
      });
    });
    RunFor(wait);
    return answer;
  }

  FakeClock clock_;
  exec::Scheduler all_{clock_};
  ChargingWaiter waiter_{all_};
  cri::FakeRuntime runtime_{clock_, {.waiter = &waiter_}};
  FakeLogSink sink_;
  const Log log_{sink_};
  bus::FakeBusNetwork network_{clock_, 1};
  exec::FakeLoop reader_loop_{all_, all_.NewOwner("status")};
  bus::FakeBus reader_bus_{network_, "status", reader_loop_};
  bus::View<v1::RuntimeRecord> view_ = *bus::ViewOf<v1::RuntimeRecord>(reader_bus_, "runtime");
  std::multiset<std::string> signals_;
  std::unique_ptr<Process> pleg_;
};

}  // namespace splitlet::pleg
