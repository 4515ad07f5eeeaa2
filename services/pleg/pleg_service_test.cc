// pleg whole, on fakes: runtime, bus, loop and strands on virtual time, with a reader of `runtime`
// beside it.

#include "services/pleg/pleg_service.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <set>

#include "libs/base/trace.h"
#include "libs/bus/fake_bus.h"
#include "libs/cri/fake_event_source.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pleg {
namespace {

enum class Streams { kNone, kCri, kContainerd };

/// A call that takes time keeps its strand busy and nobody else.
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
      PlegDeps deps{.clock = test.clock_,
                    .loop = loop,
                    .strands = strands,
                    .reader = test.runtime_,
                    .read_tail = {},
                    .sources = std::move(sources),
                    .table = *bus::Own<v1::RuntimeRecord>(bus, "runtime"),
                    .bus = bus,
                    .log = Log(test.sink_),
                    .metrics = registry};
      service = std::make_unique<PlegService>(std::move(deps), PlegConfig{});
      loop.Post([this] { service->Start(); });
    }
    static std::unique_ptr<cri::EventSource> Source(PlegTest& test,
                                                    cri::FakeEventSource::Options options) {
      return std::make_unique<cri::FakeEventSource>(test.runtime_, options);
    }
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    bus::FakeBus bus;
    prometheus::Registry registry;
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
  /// The table says what the runtime says, and vouches for all of it.
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
  bus::FakeBusNetwork network_{clock_, 1};
  exec::FakeLoop reader_loop_{all_, all_.NewOwner("status")};
  bus::FakeBus reader_bus_{network_, "status", reader_loop_};
  bus::View<v1::RuntimeRecord> view_ = *bus::ViewOf<v1::RuntimeRecord>(reader_bus_, "runtime");
  std::multiset<std::string> signals_;
  std::unique_ptr<Process> pleg_;
};

TEST_F(PlegTest, TheFirstListingTellsAllPodsBeforeItIsComplete) {
  RunPod("web");
  RunPod("db");
  bool complete_too_early = false;
  view_.OnState([&] {
    if (view_.IsComplete() && view_.size() < 2) complete_too_early = true;
  });
  Start(Streams::kNone);
  EXPECT_FALSE(complete_too_early);
  ExpectTrue();
  EXPECT_TRUE(signals_.empty()) << "nothing has ended";
  EXPECT_EQ(Find("web")->pod().runtime_name(), "containerd");
  EXPECT_TRUE(pleg_->service->GetHealth().ready);
  EXPECT_TRUE(pleg_->service->GetPlegHealth().healthy());
  EXPECT_TRUE(Scraped("kubelet_running_pods 2"));
  EXPECT_TRUE(Scraped("kubelet_running_containers{container_state=\"running\"} 2"));
}

TEST_F(PlegTest, ABurstIsToldInAFewBeatsAndNotWithEachPod) {
  constexpr int kPods = 200;
  for (int i = 0; i < kPods; ++i) RunPod(fmt::format("p{}", i));
  Start(Streams::kNone);
  ASSERT_TRUE(view_.LiveAndComplete());
  int told = 0;
  view_.OnState([&told] { ++told; });
  for (int i = 0; i < kPods; ++i)
    ASSERT_TRUE(runtime_.ExitContainer(fmt::format("p{}", i), "app", 1).ok());
  RunFor(1100ms);
  ExpectTrue();
  EXPECT_GE(told, 2) << "that all are looked at, and that all were";
  EXPECT_LE(told, 10);
}

TEST_F(PlegTest, ThatItWasForMemoryMayBeKnownAMomentAfterTheExit) {
  RunPod("web");
  Start(Streams::kCri);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 137).ok());
  RunFor(100ms);
  ASSERT_EQ(Find("web")->pod().containers(0).reason(), "Error");
  const auto id = runtime_.Containers().at(0).id;
  ASSERT_TRUE(runtime_.SetReason(id, "OOMKilled").ok());
  RunFor(1s);
  EXPECT_EQ(Find("web")->pod().containers(0).reason(), "OOMKilled");
  const size_t calls = runtime_.Calls("ListContainers");
  RunFor(5s);
  EXPECT_EQ(runtime_.Calls("ListContainers"), calls) << "once is enough";
}

TEST_F(PlegTest, AnEndBeginsATraceThatWhatFollowsContinues) {
  std::vector<std::string> traces;
  view_.OnChange([&traces](const auto& change) { traces.push_back(change.traceparent); });
  RunPod("web");
  Start(Streams::kCri);
  EXPECT_EQ(traces, std::vector<std::string>{""}) << "who asked for a start is not known here";
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 1).ok());
  RunFor(100ms);
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_NE(TraceIdOf(traces[1]), "");
  const auto sandbox = runtime_.Sandboxes().front().id;
  const cri::TestPod pod{"web", "uid-web"};
  const auto id =
      *runtime_.CreateContainer(sandbox, pod.ContainerConfig("app", 1), pod.Config(), Soon());
  ASSERT_TRUE(runtime_.StartContainer(id, Soon()).ok());
  RunFor(100ms);
  ASSERT_GE(traces.size(), 3u);
  EXPECT_EQ(traces.back(), traces[1]);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 1).ok());
  RunFor(100ms);
  EXPECT_NE(traces.back(), traces[1]) << "another end, another trace";
  EXPECT_NE(TraceIdOf(traces.back()), "");
}

TEST_F(PlegTest, ARemovalCarriesTheTraceOfTheEndBeforeIt) {
  std::vector<std::string> traces;
  view_.OnChange([&traces](const auto& change) {
    traces.push_back((change.present_after ? "" : "gone ") + change.traceparent);
  });
  const auto ended = RunPod("ended");
  Start(Streams::kCri);
  ASSERT_TRUE(runtime_.ExitContainer("ended", "app", 0).ok());
  RunFor(100ms);
  ASSERT_TRUE(runtime_.StopPodSandbox(ended, Soon()).ok());
  RunFor(3s);
  const std::string end = traces.back();
  ASSERT_NE(TraceIdOf(end), "");
  ASSERT_TRUE(runtime_.RemovePodSandbox(ended, Soon()).ok());
  RunFor(3s);
  EXPECT_EQ(traces.back(), "gone " + end);
  const auto lost = RunPod("lost");
  RunFor(3s);
  ASSERT_TRUE(runtime_.RemovePodSandbox(lost, Soon()).ok());
  RunFor(3s);
  ASSERT_TRUE(traces.back().starts_with("gone ")) << traces.back();
  EXPECT_NE(TraceIdOf(traces.back().substr(5)), "") << "it ran, and is gone: an end as well";
  EXPECT_NE(traces.back(), "gone " + end);
}

TEST_F(PlegTest, PollingFindsEveryChangeWithinAboutASecondAndIsQuietWithoutOne) {
  RunPod("web");
  Start(Streams::kNone);
  signals_.clear();
  const size_t inspections = runtime_.Calls("ContainerStatus");
  RunFor(10s);
  EXPECT_TRUE(signals_.empty());
  EXPECT_EQ(runtime_.Calls("ContainerStatus"), inspections);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 3).ok());
  RunFor(1100ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);
  EXPECT_EQ(Find("web")->pod().containers(0).exit_code(), 3);
  EXPECT_EQ(signals_.count("uid-web"), 1u);
  EXPECT_TRUE(Scraped("splitlet_pleg_changes_total{type=\"ContainerDied\"} 1"));
  const auto sandbox = runtime_.Sandboxes().front();
  ASSERT_TRUE(runtime_.RemovePodSandbox(sandbox.id, Soon()).ok());
  RunFor(1100ms);
  EXPECT_FALSE(view_.Contains("uid-web"));
  EXPECT_EQ(signals_.count("uid-web"), 2u);
  ExpectTrue();
  EXPECT_TRUE(Scraped("kubelet_running_containers{container_state=\"running\"} 0"));
}

TEST_F(PlegTest, AnEventShowsAChangeAtOnce) {
  for (const Streams streams : {Streams::kCri, Streams::kContainerd}) {
    SCOPED_TRACE(static_cast<int>(streams));
    const std::string name = streams == Streams::kCri ? "web" : "db";
    Start(streams);
    EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(),
              streams == Streams::kCri ? "cri" : "containerd");
    RunFor(3s);
    RunPod(name);
    RunFor(20ms);
    EXPECT_EQ(StateOf(name), v1::ContainerRecord::RUNNING);
    ASSERT_TRUE(runtime_.ExitContainer(name, "app", 0).ok());
    RunFor(20ms);
    EXPECT_EQ(StateOf(name), v1::ContainerRecord::EXITED);
    ExpectTrue();
    Kill();
  }
}

TEST_F(PlegTest, AnExitThatIsToldBeforeItIsShownIsLookedForAgain) {
  for (const Duration lag : {3ms, 20ms, 90ms, 400ms}) {
    SCOPED_TRACE(lag.count());
    const std::string name = fmt::format("web{}", lag.count());
    RunPod(name);
    Start(Streams::kContainerd);
    runtime_.SetExitLag(lag);
    ASSERT_TRUE(runtime_.ExitContainer(name, "app", 0).ok());
    RunFor(lag == 400ms ? 430ms : lag * 5 + 10ms);
    EXPECT_EQ(StateOf(name), v1::ContainerRecord::EXITED);
    Kill();
  }
}

// One by one, each look would make the runtime go through all of its pods.
TEST_F(PlegTest, ManyExitsThatAreNotShownYetAreLookedForByCommonListings) {
  constexpr size_t kPods = 30;
  const auto name = [](size_t i) { return fmt::format("web{}", i); };
  for (size_t i = 0; i < kPods; ++i) RunPod(name(i));
  Start(Streams::kContainerd);
  runtime_.SetExitLag(300ms);
  const size_t listings = runtime_.Calls("ListContainers");
  const size_t looks = runtime_.Calls("ContainerStatus");
  for (size_t i = 0; i < kPods; ++i) ASSERT_TRUE(runtime_.ExitContainer(name(i), "app", 0).ok());
  RunFor(450ms);
  for (size_t i = 0; i < kPods; ++i) EXPECT_EQ(StateOf(name(i)), v1::ContainerRecord::EXITED) << i;
  EXPECT_LE(runtime_.Calls("ListContainers") - listings, 15u);
  EXPECT_LE(runtime_.Calls("ContainerStatus") - looks, kPods + 5);
  ExpectTrue();
  RunFor(5s);
  EXPECT_LE(runtime_.Calls("ListContainers") - listings, 18u) << "nothing is left to look for";
}

TEST_F(PlegTest, CommonListingsThatFailAreMadeAgain) {
  constexpr size_t kPods = 10;
  const auto name = [](size_t i) { return fmt::format("web{}", i); };
  for (size_t i = 0; i < kPods; ++i) RunPod(name(i));
  Start(Streams::kContainerd);
  runtime_.SetExitLag(200ms);
  for (size_t i = 0; i < kPods; ++i) ASSERT_TRUE(runtime_.ExitContainer(name(i), "app", 0).ok());
  RunFor(30ms);
  runtime_.AddFault({.method = "ListPodSandbox", .code = StatusCode::kUnavailable, .times = 2});
  RunFor(1s);
  for (size_t i = 0; i < kPods; ++i) EXPECT_EQ(StateOf(name(i)), v1::ContainerRecord::EXITED) << i;
  ExpectTrue();
}

// An event of something that never comes to be seen holds nothing up for ever.
TEST_F(PlegTest, ManyEventsOfWhatIsNeverShownComeToAnEnd) {
  for (int i = 0; i < 10; ++i) RunPod(fmt::format("web{}", i));
  Start(Streams::kCri);
  pleg_->loop.Post([&] {
    for (int i = 0; i < 10; ++i)
      pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopped,
                                        fmt::format("never{}", i), fmt::format("uid-web{}", i)});
  });
  RunFor(5s);
  const size_t listings = runtime_.Calls("ListContainers");
  RunFor(4s);
  EXPECT_EQ(runtime_.Calls("ListContainers"), listings);
  ExpectTrue();
}

TEST_F(PlegTest, WhatAListingHasShownIsNotListedAgainForItsPod) {
  RunPod("web");
  Start(Streams::kNone);
  const size_t listings = runtime_.Calls("ListContainers");
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 3).ok());
  RunFor(1100ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);
  EXPECT_EQ(runtime_.Calls("ListContainers") - listings, 1u);
}

TEST_F(PlegTest, AnExitThatIsToldBeforeItIsKnownWhoseItIsIsLookedForAgain) {
  for (const Duration lag : {0ms, 30ms, 90ms, 400ms, 1500ms}) {
    SCOPED_TRACE(lag.count());
    const std::string name = fmt::format("short{}", lag.count());
    Start(Streams::kContainerd);
    runtime_.SetExitLag(lag);
    RunPod(name);
    ASSERT_TRUE(runtime_.ExitContainer(name, "app", 0).ok());
    RunFor(lag * 2 + 50ms);
    EXPECT_EQ(StateOf(name), v1::ContainerRecord::EXITED);
    EXPECT_EQ(signals_.count("uid-" + name), 1u);
    Kill();
  }
}

TEST_F(PlegTest, NewsThatAreNoneCostNoInspection) {
  RunPod("web");
  Start(Streams::kCri);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 0).ok());
  RunFor(1s);
  const size_t inspections = runtime_.Calls("ContainerStatus");
  const auto id = runtime_.Containers().front().id.str();
  pleg_->loop.Post([&] {
    pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStarted, id, "uid-web"});
    pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopped, id, ""});
    pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kDeleted, "never seen", ""});
  });
  RunFor(1s);
  EXPECT_EQ(runtime_.Calls("ContainerStatus"), inspections);
}

// As `crictl runp` makes them.
TEST_F(PlegTest, WhatNoKubeletMadeIsNoPodAndCostsOneListing) {
  Start(Streams::kContainerd);
  std::vector<std::string> ids;
  for (const char* name : {"a", "b", "c"}) {
    auto config = cri::TestPod{name, fmt::format("uid-{}", name)}.Config();
    config.clear_labels();
    ids.push_back(runtime_.RunPodSandbox(config, "", Soon())->str());
  }
  RunFor(5s);
  EXPECT_EQ(view_.size(), 0u);
  EXPECT_TRUE(view_.completeness().not_vouched.empty());
  const size_t listings = runtime_.Calls("ListPodSandbox");
  EXPECT_LE(listings, 3u) << "those of the start, and one for what the events named";
  for (const std::string& id : ids)
    ASSERT_TRUE(runtime_.StopPodSandbox(cri::SandboxId(id), Soon()).ok());
  RunFor(5s);
  EXPECT_EQ(runtime_.Calls("ListPodSandbox"), listings);
}

TEST_F(PlegTest, LostAndDoubledEventsChangeNothingButLatency) {
  Start(Streams::kCri);
  runtime_.DropEvents(1000);
  RunPod("web");
  RunFor(10s + 100ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::RUNNING);
  runtime_.DropEvents(0);
  runtime_.DoubleEvents(1000);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 0).ok());
  RunFor(100ms);
  ExpectTrue();
}

TEST_F(PlegTest, AStreamThatBreaksIsOpenedAgainAndWhatWasMissedIsListed) {
  Start(Streams::kCri);
  runtime_.EndStreams(Unavailable("restart"));
  RunPod("web");  // nobody is told
  RunFor(300ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::RUNNING);
  EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "cri");
  EXPECT_TRUE(Scraped("kubelet_evented_pleg_connection_error_count 1"));
  EXPECT_TRUE(Scraped("kubelet_evented_pleg_connection_success_count 2"));
}

TEST_F(PlegTest, AStreamThatKeepsBreakingIsGivenUpForAWhile) {
  Start(Streams::kCri);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "cri") << i;
    runtime_.EndStreams(Unavailable("broken"));
    RunFor(4s);
  }
  EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "polling");
  const size_t listings = runtime_.Calls("ListPodSandbox");
  RunFor(10s);
  EXPECT_GE(runtime_.Calls("ListPodSandbox"), listings + 9);
  RunFor(60s);
  EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "cri");
}

TEST_F(PlegTest, AfterARestartOfTheRuntimeStreamAndRecordsComeBack) {
  RunPod("web");
  Start(Streams::kContainerd);
  runtime_.SetDown(true);
  RunFor(40s);
  EXPECT_FALSE(pleg_->service->GetPlegHealth().healthy());
  EXPECT_EQ(pleg_->service->GetPlegHealth().reason(), "container runtime is down");
  EXPECT_TRUE(pleg_->service->GetPlegHealth().runtime_down());
  EXPECT_TRUE(view_.Contains("uid-web"));
  runtime_.SetDown(false);
  RunFor(6s);
  EXPECT_TRUE(pleg_->service->GetPlegHealth().healthy());
  EXPECT_FALSE(pleg_->service->GetPlegHealth().runtime_down());
  EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "containerd");
  ExpectTrue();
}

TEST_F(PlegTest, AFailedInspectionIsToldAndRepeatedAndHarmsNoOtherPod) {
  RunPod("web");
  RunPod("db");
  Start(Streams::kNone);
  const int fault = runtime_.AddFault(
      {.method = "ContainerStatus", .pod = "uid-web", .code = StatusCode::kInternal});
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 1).ok());
  ASSERT_TRUE(runtime_.ExitContainer("db", "app", 1).ok());
  RunFor(1500ms);
  EXPECT_EQ(StateOf("db"), v1::ContainerRecord::EXITED);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::RUNNING);  // as last seen
  EXPECT_NE(Find("web")->inspect_error(), "");
  EXPECT_EQ(view_.completeness().not_vouched, std::set<std::string>{"uid-web"});
  runtime_.RemoveFault(fault);
  RunFor(1500ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);
  EXPECT_EQ(Find("web")->inspect_error(), "");
  EXPECT_TRUE(view_.completeness().not_vouched.empty());
  EXPECT_TRUE(Scraped("splitlet_pleg_changes_total{type=\"ContainerDied\"} 2"));
}

TEST_F(PlegTest, AFailedInspectionOfAPodThatThenVanishesLeavesNothing) {
  const auto sandbox = RunPod("web");
  Start(Streams::kNone);
  runtime_.AddFault({.method = "ContainerStatus", .pod = "uid-web"});
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 1).ok());
  RunFor(2s);
  EXPECT_NE(Find("web")->inspect_error(), "");
  ASSERT_TRUE(runtime_.RemovePodSandbox(sandbox, Soon()).ok());
  RunFor(2s);
  ExpectTrue();
  EXPECT_FALSE(view_.Contains("uid-web"));
}

TEST_F(PlegTest, OnePodThatHangsHoldsUpNothing) {
  RunPod("stuck");
  RunPod("web");
  const int fault = runtime_.AddFault(
      {.method = "ContainerStatus", .pod = "uid-stuck", .kind = cri::Fault::Kind::kHang});
  Start(Streams::kNone);
  RunFor(2100ms);
  // Complete all the same, and the stuck one has a record that says so.
  EXPECT_TRUE(view_.LiveAndComplete());
  EXPECT_EQ(view_.completeness().not_vouched, std::set<std::string>{"uid-stuck"});
  EXPECT_NE(Find("stuck")->inspect_error(), "");
  for (int minute = 0; minute < 10; ++minute) {
    RunFor(1min);
    EXPECT_TRUE(pleg_->service->GetPlegHealth().healthy());
    ASSERT_EQ(pleg_->service->GetPlegHealth().stuck_size(), 1);
    EXPECT_EQ(pleg_->service->GetPlegHealth().stuck(0), "uid-stuck");
  }
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 0).ok());
  RunFor(1100ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);
  EXPECT_GE(view_.completeness().observed_at, clock_.Now() - 2s);
  runtime_.RemoveFault(fault);
  RunFor(25s);
  EXPECT_TRUE(view_.completeness().not_vouched.empty());
  EXPECT_EQ(pleg_->service->GetPlegHealth().stuck_size(), 0);
}

TEST_F(PlegTest, HealthFollowsTheAgeOfTheLastGoodListing) {
  runtime_.AddFault({.method = "ListPodSandbox"});
  Start(Streams::kNone);
  EXPECT_EQ(pleg_->service->GetPlegHealth().reason(),
            "PLEG is not healthy: pleg has yet to be successful");
  EXPECT_FALSE(view_.IsComplete());
  runtime_.ClearFaults();
  RunFor(2s);
  EXPECT_TRUE(pleg_->service->GetPlegHealth().healthy());
  const Clock::Time good = view_.completeness().observed_at;
  const int hang = runtime_.AddFault({.method = "ListContainers", .kind = cri::Fault::Kind::kHang});
  RunFor(3min - (clock_.Now() - good));
  RunFor(900ms);
  EXPECT_TRUE(pleg_->service->GetPlegHealth().reason().empty() || clock_.Now() - good > 3min);
  RunFor(1min);
  const auto health = pleg_->service->GetPlegHealth();
  EXPECT_FALSE(health.healthy());
  EXPECT_TRUE(health.reason().starts_with("PLEG is not healthy: pleg was last seen active 4m0"))
      << health.reason();
  EXPECT_TRUE(health.reason().ends_with("; threshold is 3m0s"));
  EXPECT_LE(view_.completeness().observed_at, good + 1100ms);
  runtime_.RemoveFault(hang);
  RunFor(2min + 5s);
  EXPECT_TRUE(pleg_->service->GetPlegHealth().healthy());
}

TEST_F(PlegTest, TheRuntimesOwnConditionsArePartOfHealth) {
  Start(Streams::kNone);
  runtime_.SetFeatures({.conditions = {},
                        .handlers = {{"", false, false}, {"runc", true, true}},
                        .supplemental_groups_policy = true,
                        .user_namespaces_host_network = true});
  runtime_.SetConditions(
      {{"RuntimeReady", false, "Broken", "no disk"}, {"NetworkReady", false, "NoPlugin", ""}});
  RunFor(6s);
  const auto health = pleg_->service->GetPlegHealth();
  EXPECT_EQ(health.reason(),
            "container runtime not ready: RuntimeReady=false reason:Broken message:no disk");
  ASSERT_EQ(health.conditions_size(), 2);
  EXPECT_TRUE(health.features().known());
  EXPECT_TRUE(health.features().supplemental_groups_policy());
  EXPECT_TRUE(health.features().user_namespaces_host_network());
  ASSERT_EQ(health.features().handlers_size(), 2);
  EXPECT_EQ(health.features().handlers(1).name(), "runc");
  EXPECT_FALSE(health.features().handlers(0).user_namespaces());
  EXPECT_TRUE(health.features().handlers(1).user_namespaces());
  EXPECT_TRUE(health.features().handlers(1).recursive_read_only_mounts());
  EXPECT_FALSE(health.conditions(1).status());
}

TEST_F(PlegTest, AFreshLookIsOneThatBeganAfterTheQuestion) {
  RunPod("web");
  Start(Streams::kNone);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 5).ok());
  const Clock::Time asked = clock_.Now();
  const auto answer = Ask("web", 10ms);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->pod().containers(0).exit_code(), 5);
  EXPECT_GE(answer->pod().listed_at().monotonic_ns(), asked.monotonic.count());
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);  // the table too
  const auto nothing = Ask("nobody", 10ms);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->pod().uid(), "uid-nobody");
  EXPECT_TRUE(nothing->pod().containers().empty());
  EXPECT_FALSE(view_.Contains("uid-nobody"));
  runtime_.AddFault(
      {.method = "ListContainers", .pod = "uid-web", .kind = cri::Fault::Kind::kHang});
  EXPECT_EQ(Ask("web", 11s).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PlegTest, AnAskedListingAnswersWhenItsPodsAreInspected) {
  Start(Streams::kCri);
  RunFor(5s);
  runtime_.DropEvents(100);
  RunPod("web");
  StatusOr<Clock::Time> began = Unavailable("no answer yet");
  int state = -2;
  pleg_->loop.Post([&] {
    pleg_->service->OnRelist([&](const StatusOr<Clock::Time>& t) {
      began = t;
      state = 1;
    });
  });
  RunFor(50ms);
  ASSERT_TRUE(began.ok()) << began.status();
  EXPECT_EQ(state, 1);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::RUNNING);
}

TEST_F(PlegTest, TheAddressOfAFinishedPodIsKept) {
  const auto sandbox = RunPod("web");
  Start(Streams::kCri);
  const std::string ip = Find("web")->pod().sandboxes(0).ips(0);
  ASSERT_TRUE(runtime_.StopPodSandbox(sandbox, Soon()).ok());
  RunFor(100ms);
  EXPECT_EQ(Find("web")->pod().sandboxes(0).state(), v1::SandboxRecord::NOT_READY);
  EXPECT_EQ(Find("web")->pod().sandboxes(0).ips(0), ip);
  RunPod("web", 1);
  RunFor(100ms);
  EXPECT_EQ(Find("web")->pod().sandboxes_size(), 2);
  EXPECT_EQ(Find("web")->pod().sandboxes(0).attempt(), 1u);
  EXPECT_EQ(Find("web")->pod().sandboxes(1).ips_size(), 0);
}

TEST_F(PlegTest, AContainerThatIsOnlyCreatedIsSeen) {
  Start(Streams::kNone);
  const cri::TestPod pod{"web", "uid-web"};
  runtime_.AddImage("busybox");
  const auto sandbox = *runtime_.RunPodSandbox(pod.Config(), "", Soon());
  ASSERT_TRUE(
      runtime_.CreateContainer(sandbox, pod.ContainerConfig("app", 0), pod.Config(), Soon()).ok());
  RunFor(1100ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::CREATED);
}

TEST_F(PlegTest, ARestartRebuildsEverythingAndSweepsWhatIsGone) {
  RunPod("web");
  const auto gone = RunPod("db");
  Start(Streams::kCri);
  EXPECT_EQ(view_.size(), 2u);
  Kill();
  ASSERT_TRUE(runtime_.RemovePodSandbox(gone, Soon()).ok());
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 9).ok());
  RunFor(1s);
  Start(Streams::kCri);
  RunFor(2s);
  ExpectTrue();
  EXPECT_EQ(view_.size(), 1u);
}

TEST_F(PlegTest, ABurstOfEventsBeyondTheQueueIsListedInstead) {
  Start(Streams::kCri);
  for (int i = 0; i < 300; ++i)
    runtime_.AddForeignPod({fmt::format("u{}", i), fmt::format("p{}", i), "default", {"a"}, {}});
  RunFor(500ms);
  ExpectTrue();
  EXPECT_EQ(view_.size(), 300u);
  EXPECT_FALSE(Scraped("kubelet_pleg_discard_events 0"));
}

}  // namespace
}  // namespace splitlet::pleg
