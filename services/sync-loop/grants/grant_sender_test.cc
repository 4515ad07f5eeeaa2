// Calls to pod-worker: how many are in flight, and what is kept between them.

#include "services/sync-loop/grants/grant_sender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "libs/daemon/access.h"
#include "services/sync-loop/sync_loop_fixture.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

/// Calls for admitted pods on their own: the test is pod-worker.
struct CallsRig {
  CallsRig() {
    client.on_call = [this](const std::string& uid) {
      called.push_back(uid);
      during();
      return failure;
    };
    workers.Complete();
    Admit("web");
  }
  /// config-source shows the pod. On the loop.
  void Show(const std::string& uid, int64_t generation) {
    v1::DesiredRecord record;
    record.set_uid(uid);
    record.set_incarnation(1);
    record.set_generation(generation);
    record.set_state(v1::DesiredRecord::WANTED);
    kube::Pod pod;
    pod.mutable_metadata()->set_uid(uid);
    record.set_pod(pod.SerializeAsString());
    known.OnDesired(
        {.key = uid, .present_after = true, .after = std::make_shared<v1::DesiredRecord>(record)});
  }
  void Admit(const std::string& uid, int64_t generation = 1) {
    loop.Post([this, uid, generation] {
      Show(uid, generation);
      v1::SavedAdmission admission;
      admission.mutable_record()->set_uid(uid);
      admission.mutable_record()->set_incarnation(1);
      admission.mutable_record()->set_decision(v1::AdmissionRecord::ADMITTED);
      store.Decide(uid, {.admission = std::move(admission), .pod = known.Pod(uid)->pod});
    });
    scheduler.Advance(1s);
  }
  FakeClock clock;
  exec::Scheduler scheduler{clock};
  exec::FakeLoop loop{scheduler, scheduler.NewOwner("sync-loop")};
  exec::FakeStrands strands{loop};
  fs::FakeFileSystem files{clock};
  bus::FakeBusNetwork network{clock, 1};
  bus::FakeBus bus{network, "sync-loop", loop};
  Owner<v1::WorkerRecord> workers{network, "pod-worker", "workers", loop};
  bus::Table<v1::AdmissionRecord> table = *bus::Own<v1::AdmissionRecord>(bus, "admission");
  bus::View<v1::WorkerRecord> view = *bus::ViewOf<v1::WorkerRecord>(bus, "workers");
  prometheus::Registry registry;
  SyncLoopMetrics metrics{registry, {}};
  FakeLogSink sink;
  Log log{sink};
  FakeEvents events;
  std::function<void()> during = [] {};
  std::vector<std::string> called;  // UIDs of all calls
  Status failure;                   // the answer to each call, if it is an error
  peers::FakePodWorker client;
  const std::unique_ptr<peers::GrantClient> seam = client.NewClient();
  KnownPods known;
  AdmissionStore store{
      {.env = {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
       .files = files,
       .table = table,
       .metrics = metrics},
      "/run/admission",
      [](auto&) {}};
  PreemptionVictims victims{known, store, events};
  GrantSender calls{
      {.env = {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
       .client = *seam,
       .workers = view,
       .known = known,
       .store = store,
       .victims = victims,
       .metrics = metrics,
       .on_sent = [](const std::string&) {}},
      1};
  void Check(const std::string& uid = "web") {
    loop.Post([this, uid] { calls.Check(uid); });
  }
};

TEST(WorkerCalls, OfAPodThatGoesDuringItsCallNothingIsKept) {
  for (const Status& answer : {OkStatus(), Unavailable("away")}) {
    SCOPED_TRACE(ToString(answer));
    CallsRig rig;
    int called = 0;
    rig.failure = answer;
    rig.during = [&rig, &called] {
      ++called;
      rig.loop.Post([&rig] {
        rig.known.OnDesired({.key = "web"});
        rig.calls.Forget("web");
      });
    };
    rig.Check();
    rig.scheduler.Advance(1min);
    EXPECT_EQ(called, 1);
    EXPECT_EQ(rig.calls.remembered(), 0u);
    EXPECT_EQ(rig.calls.in_flight(), 0u);
  }
}

TEST(WorkerCalls, APodThatChangedBetweenTwoMessagesIsNoTrouble) {
  const auto levels_of = [](const Status& failure, int times) {
    CallsRig rig;
    rig.failure = failure;
    rig.during = [&rig, &times] {
      if (--times == 0) rig.failure = OkStatus();
    };
    rig.Check();
    rig.scheduler.Advance(10min);
    std::vector<LogLevel> levels;
    for (const auto& line : rig.sink.lines())
      if (line.message == "call to pod-worker failed, will retry") levels.push_back(line.level);
    return levels;
  };
  using enum LogLevel;
  using Levels = std::vector<LogLevel>;
  const Status other_pod = PermissionDenied("the pod is not the one that config-source wants");
  EXPECT_EQ(levels_of(other_pod, 2), (Levels{kWarn}));
  EXPECT_EQ(levels_of(FailedPrecondition("other generation"), 5),
            (Levels{kDebug, kDebug, kWarn, kDebug}));
  EXPECT_EQ(levels_of(Unavailable("away"), 4), (Levels{kWarn}));
  EXPECT_EQ(levels_of(InvalidArgument("unsafe"), 2), (Levels{kWarn}));
}

// pod-worker would refuse more calls, and each of them would be logged and wait.
TEST(WorkerCalls, PodWorkerIsAskedNoMoreAtOnceThanItTakes) {
  constexpr size_t kPods = 3 * peers::kGrantsAtOnce;
  CallsRig rig;
  size_t called = 0, most = 0;
  rig.during = [&] {
    ++called;
    most = std::max(most, rig.calls.in_flight());
  };
  for (size_t i = 0; i < kPods; ++i) rig.Admit(fmt::format("web{}", i));
  rig.loop.Post([&rig] { rig.calls.CheckAll(); });
  rig.scheduler.Advance(1s);
  EXPECT_EQ(called, kPods + 1) << "with the one that is there from the start";
  EXPECT_EQ(most, peers::kGrantsAtOnce);
  EXPECT_EQ(rig.calls.in_flight(), 0u);
}

TEST(WorkerCalls, AFailureLetsThoseThatWaitBeCalledInTheirOrder) {
  constexpr size_t kPods = 2 * peers::kGrantsAtOnce;
  const auto uid = [](size_t i) { return fmt::format("web{}", i); };
  CallsRig rig;
  rig.failure = Unavailable("away");
  for (size_t i = 0; i < kPods; ++i) rig.Admit(uid(i));
  std::vector<std::string> all;
  for (size_t i = kPods; i-- > 0;) all.push_back(uid(i));
  for (const auto& one : all) rig.Check(one);
  rig.scheduler.Advance(40ms);  // shorter than any back-off
  EXPECT_EQ(rig.called, all);
}

TEST(WorkerCalls, NoLimitOfTheServerIsBelowTheirNumber) {
  constexpr auto kMost = static_cast<int>(peers::kGrantsAtOnce + peers::kOrphanKillsAtOnce);
  for (const char* method : {"UpdatePod", "KillPod"})
    EXPECT_GE(daemon::LimitsOf(fmt::format("splitlet.v1.PodWorker/{}", method)).per_caller, kMost)
        << method;
}

// A pod that is removed while it waits in line takes no call slot.
TEST(WorkerCalls, OfAPodThatGoesWhileItWaitsForAPlaceNothingIsSent) {
  constexpr size_t kPods = 2 * peers::kGrantsAtOnce;
  const auto uid = [](size_t i) { return fmt::format("web{}", i); };
  CallsRig rig;
  size_t called = 0;
  rig.during = [&] {
    if (++called > 1) return;
    rig.loop.Post([&] {
      for (size_t i = 0; i + 1 < kPods; ++i) {
        rig.known.OnDesired({.key = uid(i)});
        rig.calls.Forget(uid(i));
      }
    });
  };
  for (size_t i = 0; i < kPods; ++i) rig.Admit(uid(i));
  for (size_t i = 0; i < kPods; ++i) rig.Check(uid(i));
  rig.scheduler.Advance(1s);
  EXPECT_EQ(called, peers::kGrantsAtOnce + 1) << "those under way, and the one that is left";
  EXPECT_TRUE(rig.calls.MayBeGranted(uid(kPods - 1)));
}

TEST(WorkerCalls, APodThatChangesDuringItsCallIsComparedAgainAfterIt) {
  CallsRig rig;
  rig.during = [&rig] {
    if (rig.called.size() > 1) return;
    rig.loop.Post([&rig] {
      rig.Show("web", 2);
      rig.calls.Check("web");
    });
    rig.scheduler.Charge(1s);
  };
  rig.Check();
  rig.scheduler.Advance(2s);  // shorter than kEcho
  EXPECT_EQ(rig.called, (std::vector<std::string>{"web", "web"}));
  EXPECT_EQ(rig.client.Find("web")->generation(), 2);
}

TEST(WorkerCalls, AFailureIsToldOnceAndAgainWhenItChanges) {
  CallsRig rig;
  rig.failure = Unavailable("away");
  rig.Check();
  rig.scheduler.Advance(1min);
  EXPECT_EQ(rig.sink.lines().size(), 1u);
  rig.failure = DeadlineExceeded("slow");
  rig.scheduler.Advance(1min);
  EXPECT_EQ(rig.sink.lines().size(), 2u);
}

TEST(WorkerCalls, WhatNoRetryCanChangeIsSentAgainOnceAMinuteOrWhenItDiffers) {
  for (const Status& answer : {InvalidArgument("no such pod"), PermissionDenied("another pod")}) {
    SCOPED_TRACE(ToString(answer));
    CallsRig rig;
    rig.failure = answer;
    rig.Check();
    for (int i = 0; i < 29; ++i) {
      rig.scheduler.Advance(2s);
      rig.Check();
    }
    EXPECT_EQ(rig.called.size(), 1u);
    EXPECT_FALSE(rig.calls.MayBeGranted("web"));
    rig.scheduler.Advance(4s);
    EXPECT_EQ(rig.called.size(), 2u);
    rig.Admit("web", 2);
    rig.Check();
    rig.scheduler.Advance(10s);
    EXPECT_EQ(rig.called.size(), 3u) << "another generation";
  }
}

}  // namespace
}  // namespace splitlet::sync_loop
