#include "libs/base/trace.h"
#include "services/pleg/pleg_fixture.h"

namespace splitlet::pleg {
namespace {

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
  int reported = 0;
  view_.OnState([&reported] { ++reported; });
  for (int i = 0; i < kPods; ++i)
    ASSERT_TRUE(runtime_.ExitContainer(fmt::format("p{}", i), "app", 1).ok());
  RunFor(1100ms);
  ExpectTrue();
  EXPECT_GE(reported, 2) << "while all are inspected, and when all were";
  EXPECT_LE(reported, 10);
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

TEST_F(PlegTest, AStreamThatBreaksIsOpenedAgainAndWhatWasMissedIsListed) {
  Start(Streams::kCri);
  runtime_.EndStreams(Unavailable("restart"));
  RunPod("web");  // no event comes
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

TEST_F(PlegTest, AStreamThatKeepsBreakingIsLoggedUntilItIsGivenUpOnceAndWhenItLasts) {
  Start(Streams::kCri);
  const auto breaks = [this] {
    for (int i = 0; i < 5; ++i) {
      runtime_.EndStreams(Unavailable("broken"));
      RunFor(4s);
    }
    RunFor(60s);
  };
  for (int minute = 0; minute < 5; ++minute) breaks();
  EXPECT_EQ(Logged("event stream ended"), 5);
  EXPECT_EQ(Logged("event stream given up"), 1);
  EXPECT_EQ(Logged("event stream opened"), 5);
  RunFor(11s);
  RunPod("web");
  RunFor(1s);
  EXPECT_EQ(Logged("event stream lasts again"), 1);
  runtime_.EndStreams(Unavailable("broken"));  // after a stream that lasted it is the first
  RunFor(4s);
  breaks();
  EXPECT_EQ(Logged("event stream given up"), 2);
}

TEST_F(PlegTest, AStreamThatLastedWithoutAnEventIsLoggedWhenItEnds) {
  Start(Streams::kCri);
  for (int i = 0; i < 5; ++i) {
    runtime_.EndStreams(Unavailable("broken"));
    RunFor(4s);
  }
  RunFor(60s);
  EXPECT_EQ(Logged("event stream given up"), 1);
  const auto ended = Logged("event stream ended");
  RunFor(600s);
  runtime_.EndStreams(Unavailable("broken"));
  RunFor(1s);
  EXPECT_EQ(Logged("event stream ended"), ended + 1);
}

TEST_F(PlegTest, ARuntimeWithoutEventsIsLoggedOnceAndOneThatHasThemLaterIsNoticed) {
  Start(Streams::kAbsent);
  RunFor(600s);
  EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "polling");
  EXPECT_EQ(Logged("event stream not available"), 2) << "CRI's and containerd's";
  EXPECT_EQ(Logged("event stream"), 2);
  EXPECT_TRUE(Scraped("kubelet_evented_pleg_connection_error_count 0"));
  pleg_->absent->SetUnimplemented(false);
  RunFor(61s);
  EXPECT_EQ(pleg_->service->GetPlegHealth().event_source(), "cri");
  EXPECT_EQ(Logged("event stream opened"), 1);
}

TEST_F(PlegTest, ARuntimeThatComesBackWithEventsIsAskedForThemAtOnce) {
  Start(Streams::kAbsent);
  RunFor(30s);
  runtime_.SetDown(true);
  RunFor(3s);
  pleg_->absent->SetUnimplemented(false);
  runtime_.SetDown(false);
  RunFor(3s);
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

/// While a stream is open, the next listing is 10 s away, and pleg waits 2.5 s for an event
/// to show.
TEST_F(PlegTest, AFailedInspectionIsRepeatedWithoutWaitingForTheNextListing) {
  RunPod("web");
  Start(Streams::kCri);
  RunFor(10s);
  const int fault = runtime_.AddFault(
      {.method = "ContainerStatus", .pod = "uid-web", .code = StatusCode::kInternal});
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 1).ok());
  RunFor(2900ms);
  EXPECT_NE(Find("web")->inspect_error(), "");
  runtime_.RemoveFault(fault);
  RunFor(200ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);
  ExpectTrue();
}

TEST_F(PlegTest, InspectionsThatKeepFailingAreRepeatedLessAndLessOften) {
  RunPod("web");
  Start(Streams::kCri);
  RunFor(10s);
  runtime_.AddFault({.method = "ContainerStatus", .pod = "uid-web", .code = StatusCode::kInternal});
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 1).ok());
  RunFor(2min);
  double count = 0;
  for (const auto& family : pleg_->registry.Collect())
    if (family.name == "splitlet_pleg_inspect_errors_total")
      count = family.metric.at(0).counter.value;
  // For the event 10, then after 1, 2, 4, 8 s and each 10 s, and with each listing.
  EXPECT_GE(count, 10 + 4 + 10 + 10);
  EXPECT_LE(count, 10 + 4 + 12 + 13);
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
  // The table is complete, and the record of the stuck pod has an error.
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

TEST_F(PlegTest, TheRuntimeIsAskedSoonOnlyUntilItWasReady) {
  const auto be_ready = [this](bool network) {
    runtime_.SetConditions(
        {{"RuntimeReady", true, "", ""}, {"NetworkReady", network, "", "no configuration"}});
  };
  const auto asked = [this](Duration in) {
    const size_t before = runtime_.Calls("Status");
    RunFor(in);
    return static_cast<double>(runtime_.Calls("Status") - before);
  };
  be_ready(false);
  Start(Streams::kNone);
  EXPECT_NEAR(asked(10s), 50, 2);
  EXPECT_FALSE(pleg_->service->GetPlegHealth().conditions(1).status());
  const int hang = runtime_.AddFault({.method = "Status", .kind = cri::Fault::Kind::kHang});
  RunFor(300ms);
  EXPECT_EQ(asked(20s), 0) << "one after the other";
  runtime_.RemoveFault(hang);
  RunFor(2min);
  EXPECT_NEAR(asked(10s), 10, 1) << "it has not been ready for minutes";
  be_ready(true);
  RunFor(1100ms);
  EXPECT_TRUE(pleg_->service->GetPlegHealth().conditions(1).status());
  EXPECT_NEAR(asked(20s), 4, 1);
  be_ready(false);
  EXPECT_NEAR(asked(20s), 4, 1) << "it was ready since the start";
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
  const auto nothing = Ask("unknown", 10ms);
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->pod().uid(), "uid-unknown");
  EXPECT_TRUE(nothing->pod().containers().empty());
  EXPECT_FALSE(view_.Contains("uid-unknown"));
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
    runtime_.AddUnmanagedPod({fmt::format("u{}", i), fmt::format("p{}", i), "default", {"a"}, {}});
  RunFor(500ms);
  ExpectTrue();
  EXPECT_EQ(view_.size(), 300u);
  EXPECT_FALSE(Scraped("kubelet_pleg_discard_events 0"));
}

}  // namespace
}  // namespace splitlet::pleg
