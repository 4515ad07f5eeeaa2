// Which inspections an event leads to, and what they cost the runtime.

#include "services/pleg/pleg_fixture.h"

namespace splitlet::pleg {
namespace {

class Looks : public PlegTest {
 protected:
  static std::string NameOf(size_t i) { return fmt::format("web{}", i); }
  void RunMany(size_t pods) {
    for (size_t i = 0; i < pods; ++i) RunPod(NameOf(i));
  }
  void ExitMany(size_t pods) {
    for (size_t i = 0; i < pods; ++i) ASSERT_TRUE(runtime_.ExitContainer(NameOf(i), "app", 0).ok());
  }
  void ExpectExited(size_t pods) {
    for (size_t i = 0; i < pods; ++i)
      EXPECT_EQ(StateOf(NameOf(i)), v1::ContainerRecord::EXITED) << i;
  }
  /// Starts another container in the pod "web".
  void StartContainer(const cri::SandboxId& sandbox, const std::string& name, uint32_t attempt) {
    const cri::TestPod pod{"web", "uid-web"};
    const auto id = *runtime_.CreateContainer(sandbox, pod.ContainerConfig(name, attempt),
                                              pod.Config(), Soon());
    ASSERT_TRUE(runtime_.StartContainer(id, Soon()).ok());
  }
};

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

// Its shim ends first: quick inspections would find nothing.
TEST_F(Looks, TheEndOfASandboxIsLookedForLater) {
  for (const Duration lag : {0ms, 110ms, 300ms}) {
    SCOPED_TRACE(lag.count());
    const auto sandbox = RunPod("web");
    Start(Streams::kContainerd);
    ASSERT_TRUE(runtime_.ExitContainer("web", "app", 0).ok());
    RunFor(2s);
    const size_t listings = runtime_.Calls("ListContainers");
    pleg_->loop.Post([&] {
      pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopping, sandbox.str(), ""});
      pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopped, sandbox.str(), ""});
    });
    RunFor(lag);
    EXPECT_EQ(runtime_.Calls("ListContainers") - listings, lag < 120ms ? 0u : 1u);
    runtime_.DropEvents(1);
    ASSERT_TRUE(runtime_.StopPodSandbox(sandbox, Soon()).ok());
    RunFor(350ms);
    EXPECT_EQ(Find("web")->pod().sandboxes(0).state(), v1::SandboxRecord::NOT_READY);
    EXPECT_LE(runtime_.Calls("ListContainers") - listings, 2u);
    ASSERT_TRUE(runtime_.RemovePodSandbox(sandbox, Soon()).ok());
    Kill();
  }
}

TEST_F(Looks, TheEndOfASandboxIsShownAtOnceWhereCriTellsIt) {
  const auto sandbox = RunPod("web");
  Start(Streams::kCri);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 0).ok());
  RunFor(2s);
  ASSERT_TRUE(runtime_.StopPodSandbox(sandbox, Soon()).ok());
  RunFor(20ms);
  EXPECT_EQ(Find("web")->pod().sandboxes(0).state(), v1::SandboxRecord::NOT_READY);
}

TEST_F(Looks, TheEndOfASandboxPutsOffNoLookForItsContainer) {
  const auto sandbox = RunPod("web");
  Start(Streams::kContainerd);
  runtime_.SetExitLag(20ms);
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 0).ok());
  RunFor(3ms);
  pleg_->loop.Post([&] {
    pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopping, sandbox.str(), ""});
    pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopped, sandbox.str(), ""});
  });
  RunFor(50ms);
  EXPECT_EQ(StateOf("web"), v1::ContainerRecord::EXITED);
  runtime_.DropEvents(1);
  ASSERT_TRUE(runtime_.StopPodSandbox(sandbox, Soon()).ok());
  RunFor(150ms);
  EXPECT_EQ(Find("web")->pod().sandboxes(0).state(), v1::SandboxRecord::NOT_READY)
      << "the longer waits follow";
}

// Without common listings, each inspection would make the runtime go through all of its pods.
TEST_F(Looks, ManyExitsThatAreNotShownYetAreLookedForByCommonListings) {
  constexpr size_t kPods = 30;
  RunMany(kPods);
  Start(Streams::kContainerd);
  runtime_.SetExitLag(300ms);
  const size_t listings = runtime_.Calls("ListContainers");
  ExitMany(kPods);
  RunFor(450ms);
  ExpectExited(kPods);
  EXPECT_LE(runtime_.Calls("ListContainers") - listings, 15u);
  ExpectTrue();
  RunFor(5s);
  EXPECT_LE(runtime_.Calls("ListContainers") - listings, 18u) << "no event waits any more";
}

TEST_F(Looks, ManyPodsThatStartAreFoundByCommonListings) {
  constexpr size_t kPods = 60;
  Start(Streams::kContainerd);
  RunFor(3s);
  const size_t before = runtime_.Calls("ListPodSandbox");
  RunPod("first");
  RunFor(30ms);
  EXPECT_EQ(StateOf("first"), v1::ContainerRecord::RUNNING) << "one alone is not waited with";
  for (size_t i = 0; i < kPods; ++i) {
    RunPod(NameOf(i));
    RunFor(30ms);
  }
  RunFor(150ms);
  for (size_t i = 0; i < kPods; ++i)
    EXPECT_EQ(StateOf(NameOf(i)), v1::ContainerRecord::RUNNING) << i;
  EXPECT_LE(runtime_.Calls("ListPodSandbox") - before, 30u);
  RunFor(3s);
  RunPod("last");
  RunFor(30ms);
  EXPECT_EQ(StateOf("last"), v1::ContainerRecord::RUNNING);
  ExpectTrue();
}

TEST_F(Looks, ManyIdsThatNoListingShowsAreLookedForByCommonListings) {
  Start(Streams::kContainerd);
  RunFor(3s);
  const size_t before = runtime_.Calls("ListPodSandbox");
  for (int i = 0; i < 60; ++i) {
    pleg_->loop.Post([this, i] {
      pleg_->service->OnContainerEvent(
          {cri::ContainerEvent::Kind::kStarted, fmt::format("never{}", i), ""});
    });
    RunFor(30ms);
  }
  EXPECT_LE(runtime_.Calls("ListPodSandbox") - before, 30u);
  RunFor(2s);
  const size_t after = runtime_.Calls("ListPodSandbox");
  RunFor(5s);
  EXPECT_EQ(runtime_.Calls("ListPodSandbox"), after) << "the search ends";
}

TEST_F(Looks, CommonListingsThatFailAreMadeAgain) {
  constexpr size_t kPods = 10;
  RunMany(kPods);
  Start(Streams::kContainerd);
  runtime_.SetExitLag(200ms);
  ExitMany(kPods);
  RunFor(30ms);
  runtime_.AddFault({.method = "ListPodSandbox", .code = StatusCode::kUnavailable, .times = 2});
  RunFor(1s);
  ExpectExited(kPods);
  ExpectTrue();
}

// An event of something that never comes to be seen holds nothing up for ever.
TEST_F(Looks, ManyEventsOfWhatIsNeverShownComeToAnEnd) {
  RunMany(10);
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
  ASSERT_TRUE(runtime_.ExitContainer("web0", "app", 0).ok());
  RunFor(20ms);
  EXPECT_EQ(StateOf("web0"), v1::ContainerRecord::EXITED) << "a few pods are inspected one by one";
}

// The next listing does not wait longer because one took long.
TEST_F(Looks, CommonListingsThatHangArePutOffForNoLongerThanTheRegularOnes) {
  constexpr size_t kPods = 10;
  RunMany(kPods);
  Start(Streams::kContainerd);
  runtime_.SetExitLag(200ms);
  const int fault =
      runtime_.AddFault({.method = "ListPodSandbox", .kind = cri::Fault::Kind::kHang});
  ExitMany(kPods);
  RunFor(125s);
  runtime_.RemoveFault(fault);
  RunFor(15s);
  ExpectExited(kPods);
  ExpectTrue();
  EXPECT_TRUE(pleg_->service->GetHealth().ready);
}

// An inspection that began before a listing does not answer for that listing.
TEST_F(Looks, AListingIsAnsweredWithLooksThatBeganNoEarlierThanIt) {
  const auto sandbox = RunPod("web");
  Start(Streams::kNone);
  runtime_.AddFault(
      {.method = "ContainerStatus", .kind = cri::Fault::Kind::kDelay, .delay = 300ms, .times = 1});
  ASSERT_TRUE(runtime_.ExitContainer("web", "app", 3).ok());
  RunFor(1010ms);  // the inspection after its listing runs
  StartContainer(sandbox, "app", 1);
  const size_t before = runtime_.Calls("ContainerStatus");
  size_t asked = 0;
  pleg_->loop.Post([&] {
    pleg_->service->OnRelist([&](const StatusOr<Clock::Time>& began) {
      ASSERT_TRUE(began.ok()) << began.status();
      asked = runtime_.Calls("ContainerStatus") - before;
    });
  });
  RunFor(600ms);
  EXPECT_EQ(asked, 2u) << "of both containers, by an inspection after the listing";
  ExpectTrue();
}

// A new event does not wait for the inspection of an old one.
TEST_F(Looks, ANewEventIsLookedForAtOnceBesideAnOldOneThatIsNotShown) {
  const auto sandbox = RunPod("web");
  Start(Streams::kContainerd);
  pleg_->loop.Post([&] {
    pleg_->service->OnContainerEvent({cri::ContainerEvent::Kind::kStopped, "never", "uid-web"});
  });
  RunFor(1100ms);  // the last inspection waits
  runtime_.SetExitLag(30ms);
  StartContainer(sandbox, "next", 0);
  ASSERT_TRUE(runtime_.ExitContainer("web", "next", 0).ok());
  RunFor(150ms);
  const auto containers = Find("web")->pod().containers();
  ASSERT_EQ(containers.size(), 2);
  EXPECT_TRUE(std::ranges::all_of(containers, [](const auto& each) {
    return each.name() != "next" || each.state() == v1::ContainerRecord::EXITED;
  }));
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

}  // namespace
}  // namespace splitlet::pleg
