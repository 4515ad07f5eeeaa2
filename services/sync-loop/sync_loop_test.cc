#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "services/sync-loop/sync_loop_fixture.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

using Calls = std::vector<std::string>;

TEST(SyncLoop, AnApiPodIsAdmittedGrantedUpdatedAndEnded) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web"});
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  EXPECT_EQ(node.Decision("web"), "admitted");
  node.Put({.uid = "web", .generation = 2});
  EXPECT_EQ(node.Calls(), Calls{"UPDATE web 1/2"});
  node.Put({.uid = "web", .generation = 2, .state = v1::DesiredRecord::REMOVED});
  EXPECT_EQ(node.Calls(), Calls{"KILL web 1"});
  node.worker.Set("web", v1::FINISHED);
  node.Settle();
  node.desired.table.Remove("web");
  node.Advance(3s);
  EXPECT_EQ(node.Decision("web"), "none");
  EXPECT_TRUE(node.files.List("/run/sync-loop/admission")->empty());
  EXPECT_EQ(node.Calls(), Calls{});
}

/// sync-loop did not run when the record of the pod was removed.
TEST(SyncLoop, AnAdmissionGoesWithARemovedPodWhateverIsIncomplete) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web"});
  ASSERT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  node.Crash();
  node.worker.Set("web", v1::FINISHED);
  node.desired.table.SetComplete({});
  node.desired.table.Remove("web");
  node.StartLoop();
  node.Advance(1min);
  EXPECT_EQ(node.Decision("web"), "admitted") << "no process removed it";
  auto record = node.workers.table.Get("web");
  ASSERT_NE(record, nullptr);
  record->set_removed(true);
  ASSERT_TRUE(node.workers.table.Put("web", *record).ok());
  node.Advance(3s);
  EXPECT_EQ(node.Decision("web"), "none");
  EXPECT_TRUE(node.files.List("/run/sync-loop/admission")->empty());
}

TEST(SyncLoop, ARefusedPodIsToldAndTheOthersRun) {
  Node node;
  node.PutNode();
  node.StartLoop();
  const std::string port =
      "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]";
  node.Put({.uid = "first", .spec = port, .created = 1});
  node.Put({.uid = "second", .spec = port, .created = 2});
  node.Put({.uid = "third", .created = 3});
  EXPECT_EQ(node.Calls(), (Calls{"CREATE first 1/1", "CREATE third 1/1"}));
  EXPECT_EQ(node.Decision("second"),
            "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the "
            "requested pod ports");
  ASSERT_EQ(node.events.all.size(), 1u);
  EXPECT_TRUE(node.events.all[0].starts_with("NodePorts: "));
  EXPECT_EQ(node.service->GetState().rejected, 1u);
  node.Advance(10min);
  for (const auto& call : node.Calls()) EXPECT_EQ(call.find("second"), std::string::npos) << call;
}

TEST(SyncLoop, APodWhoseGrantIsRefusedForGoodLeavesItsRoomUntilAnotherPodWorkerComes) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  const std::string spec = "containers: [{name: c, resources: {requests: {cpu: 600m}}}]";
  node.worker.failure = InvalidArgument("spec.containers[0].name: Invalid value");
  node.Put({.uid = "odd", .spec = spec, .created = 1});
  node.Settle();
  EXPECT_EQ(node.Decision("odd"), "admitted");
  v1::WorkerRecord refused;
  refused.set_uid("odd");
  refused.set_incarnation(1);
  refused.set_state(v1::SYNCING);
  refused.set_refused_generation(1);
  ASSERT_TRUE(node.workers.table.Put("odd", refused).ok());
  node.Settle();
  node.worker.failure = OkStatus();
  node.Put({.uid = "other", .spec = spec, .created = 2});
  node.Advance(10min);
  EXPECT_EQ(node.Calls(), (Calls{"CREATE other 1/1"})) << "the other is not sent again";
  node.workers.table.Remove("odd");
  EXPECT_EQ(node.Calls(), (Calls{"CREATE odd 1/1"}));
}

TEST(SyncLoop, OlderPodsAreJudgedFirst) {
  Node node;
  node.PutNode("1");
  const std::string spec = "containers: [{name: c, resources: {requests: {cpu: 600m}}}]";
  node.Put({.uid = "a-young", .spec = spec, .created = 20});
  node.Put({.uid = "b-old", .spec = spec, .created = 10});
  node.StartLoop();
  node.Settle();
  EXPECT_EQ(node.Decision("b-old"), "admitted");
  EXPECT_EQ(
      node.Decision("a-young"),
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 600, used: 600, capacity: 1000");
}

TEST(SyncLoop, StaticPodsDoNotWaitForTheNodeAndApiPodsDo) {
  Node node;
  node.StartLoop();
  node.Put({.uid = "static", .source = "file"});
  node.Put({.uid = "api"});
  EXPECT_EQ(node.Calls(), Calls{}) << "the node's record may still come";
  node.Advance(3s);
  EXPECT_EQ(node.Calls(), Calls{"CREATE static 1/1"});
  EXPECT_EQ(node.service->GetState().waiting, 1u);
  node.PutNode();
  EXPECT_EQ(node.Calls(), Calls{"CREATE api 1/1"});
}

TEST(SyncLoop, NothingIsAdmittedBeforeAllWorkersAreKnown) {
  Node node;
  node.PutNode();
  node.workers.table.SetComplete({});
  node.Settle();
  node.StartLoop();
  node.Put({.uid = "web", .source = "file"});
  node.Advance(10s);
  EXPECT_EQ(node.Calls(), Calls{});
  EXPECT_FALSE(node.service->GetHealth().ready);
  node.workers.Complete();
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  EXPECT_TRUE(node.service->GetHealth().ready);
}

TEST(SyncLoop, ALabelThatComesLateStillAdmits) {
  Node node;
  node.PutNode("1", "old");
  node.StartLoop();
  node.Put({.uid = "web", .spec = "containers: [{name: c}], nodeSelector: {zone: new}"});
  node.Advance(1s);
  EXPECT_EQ(node.Decision("web"), "none");
  node.PutNode("1", "new");
  node.Settle();
  EXPECT_EQ(node.Decision("web"), "admitted");
  node.Put({.uid = "never", .spec = "containers: [{name: c}], nodeSelector: {zone: other}"});
  node.Advance(4s);
  EXPECT_TRUE(node.Decision("never").starts_with("NodeAffinity"));
}

TEST(SyncLoop, WantOfRoomRefusesNobodyWhileThePodsAreNotAllKnown) {
  Node node;
  node.StartLoop();
  node.Put({.uid = "small",
            .spec = "containers: [{name: c, resources: {requests: {cpu: 600m}}}]",
            .created = 1});
  node.Put({.uid = "big",
            .spec = "containers: [{name: c, resources: {requests: {cpu: 500m}}}]",
            .created = 2});
  node.Settle();
  node.network.SetConnected("config-source", false);
  node.network.SetCallsFail("config-source", true);
  node.Advance(10s);
  node.PutNode("1");
  node.Advance(5s);
  EXPECT_EQ(node.Decision("small"), "admitted");
  EXPECT_EQ(node.Decision("big"), "none");
  EXPECT_TRUE(node.service->GetState().waiting_reason.starts_with("OutOfcpu, but"));
  node.network.SetConnected("config-source", true);
  node.network.SetCallsFail("config-source", false);
  node.Advance(5s);
  EXPECT_TRUE(node.Decision("big").starts_with("OutOfcpu"));
}

TEST(SyncLoop, ARestartKeepsDecisionsAndJudgesRejectedStaticPodsAgain) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  const std::string half = "containers: [{name: c, resources: {requests: {cpu: 600m}}}]";
  node.Put({.uid = "runs", .spec = half});
  node.Settle();
  node.Put({.uid = "static",
            .spec = "containers: [{name: c}], nodeSelector: {zone: new}",
            .source = "file"});
  node.Put({.uid = "api", .spec = half});
  node.Advance(4s);
  EXPECT_EQ(node.Calls(), Calls{"CREATE runs 1/1"});
  EXPECT_TRUE(node.Decision("static").starts_with("NodeAffinity"));
  node.PutNode("2", "new");
  node.Advance(1min);
  EXPECT_TRUE(node.Decision("static").starts_with("NodeAffinity")) << "decided once in a start";
  node.worker.TakeCalls();
  node.Restart();
  EXPECT_EQ(node.Decision("runs"), "admitted");
  EXPECT_EQ(node.Decision("static"), "admitted");
  EXPECT_TRUE(node.Decision("api").starts_with("OutOfcpu"));
  EXPECT_EQ(node.Calls(), Calls{"CREATE static 1/1"});
}

TEST(SyncLoop, ARunningPodIsNotRefusedAfterARestartAlthoughItNoLongerFits) {
  Node node;
  node.PutNode("2");
  node.StartLoop();
  node.Put({.uid = "web", .spec = "containers: [{name: c, resources: {requests: {cpu: 1500m}}}]"});
  node.Settle();
  node.PutNode("1");
  ASSERT_TRUE(node.files.RemoveTree("/run/sync-loop").ok());
  node.worker.TakeCalls();
  node.Restart();
  EXPECT_EQ(node.Decision("web"), "admitted") << "its grant shows that it was admitted";
  EXPECT_EQ(node.Calls(), Calls{});
}

TEST(SyncLoop, ARebootVoidsDecisions) {
  Node node;
  node.StartLoop();
  node.Put(
      {.uid = "web", .spec = "containers: [{name: c}], os: {name: windows}", .source = "file"});
  node.Advance(4s);
  EXPECT_TRUE(node.Decision("web").starts_with("PodOSNotSupported"));
  node.Crash();
  node.clock.SetBoot(99);
  node.desired.table.Remove("web");
  node.StartLoop();
  node.Advance(10s);
  EXPECT_EQ(node.service->GetState().rejected, 0u);
}

TEST(SyncLoop, ADecisionThatCannotBeSavedGrantsNothing) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Settle();
  node.files.SetFull("/run", true);
  node.Put({.uid = "web"});
  node.Advance(10s);
  EXPECT_GE(node.Counter("splitlet_sync_loop_file_errors_total", "save"), 2);
  EXPECT_EQ(node.CountLines("cannot save an admission, will retry"), 1u);
  EXPECT_EQ(node.Calls(), Calls{});
  EXPECT_EQ(node.Decision("web"), "none");
  node.files.SetFull("/run", false);
  node.Advance(40s);
  EXPECT_EQ(node.Decision("web"), "admitted");
  EXPECT_EQ(node.Calls().front(), "CREATE web 1/1");
}

TEST(SyncLoop, CallsAreTriedAgainAndSentAgainWhenTheirEffectDoesNotShow) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.worker.failure = Unavailable("away");
  node.Put({.uid = "web"});
  node.Advance(10s);
  EXPECT_EQ(node.Calls(), Calls{});
  node.worker.failure = OkStatus();
  node.worker.mute = true;
  node.Advance(8s);
  const Calls calls = node.Calls();
  EXPECT_GE(calls.size(), 1u);
  EXPECT_LE(calls.size(), 4u) << "not before its effect had time to show";
  node.worker.mute = false;
  node.Advance(5s);
  node.worker.TakeCalls();
  node.Advance(30s);
  EXPECT_EQ(node.Calls(), Calls{});
}

TEST(SyncLoop, SyncsComeFromTheRuntimeAndNotFromTime) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web"});
  node.Settle();
  node.PutRuntime("web", kOurs);
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 1/1"}) << "what was started makes no work";
  node.PutRuntime("web", kOurs, /*ready=*/false);
  EXPECT_EQ(node.Calls(), Calls{"SYNC web 1/1"});
  node.Advance(600s);
  EXPECT_EQ(node.Calls(), Calls{}) << "pod-worker resyncs pods by itself";
  node.PutRuntime("orphan", kOurs);
  EXPECT_EQ(node.Calls(), Calls{}) << "no work for who is not wanted";
}

TEST(SyncLoop, AFurtherLifeWaitsForTheEndOfTheEarlierOne) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web", .source = "file"});
  node.Settle();
  node.Put({.uid = "web", .source = "file", .incarnation = 2, .generation = 5});
  EXPECT_EQ(node.Calls(), (Calls{"CREATE web 1/1", "KILL web 1"}));
  EXPECT_EQ(node.service->GetState().waiting_reason,
            "an earlier incarnation of the pod has not finished");
  node.worker.Set("web", v1::FINISHED);
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 2/5"});
}

TEST(SyncLoop, AnOrphanIsKilledAfterTwoPassesWithTheGraceOfItsAnnotation) {
  Node node;
  node.PutNode();
  node.PutRuntime("lost", kOurs);
  node.StartLoop();
  node.Advance(3s);
  EXPECT_EQ(node.Calls(), Calls{}) << "one pass is not enough";
  node.Advance(4s);
  EXPECT_GE(node.config.asked, 1);
  ASSERT_FALSE(node.worker.kills.empty());
  const auto& kill = node.worker.kills[0];
  EXPECT_EQ(kill.incarnation(), 0);
  EXPECT_EQ(kill.sandbox_ids_size(), 1);
  EXPECT_EQ(kill.sandbox_ids(0), "s-lost");
  EXPECT_TRUE(kill.has_grace());
  EXPECT_EQ(kill.grace_period_seconds(), 7);
}

// All of them together would leave no call slot of pod-worker to other processes.
TEST(SyncLoop, OfManyOrphansAFewAreKilledAtATime) {
  constexpr size_t kOrphans = 20;
  Node node;
  node.PutNode();
  for (size_t i = 0; i < kOrphans; ++i) node.PutRuntime(fmt::format("lost-{}", i), kOurs);
  size_t most = 0;
  node.worker.on_call = [&node, &most](const std::string&) {
    const size_t answered = node.CountLines("killing an orphaned pod");
    most = std::max(most, node.worker.kills.size() + 1 - answered);
    return OkStatus();
  };
  node.StartLoop();
  node.Advance(5s);
  std::set<std::string> killed;
  for (const auto& kill : node.worker.kills) killed.insert(kill.uid());
  EXPECT_EQ(killed.size(), kOrphans) << "each answer lets the next one be killed";
  EXPECT_EQ(most, peers::kOrphanKillsAtOnce);
}

TEST(SyncLoop, ANumberOfALifeWithoutAStateIsNoWorker) {
  Node node;
  node.PutNode();
  node.PutRuntime("lost", kOurs);
  v1::WorkerRecord found;
  found.set_uid("lost");
  found.set_incarnation(7);
  ASSERT_TRUE(node.workers.table.Put("lost", found).ok());
  found.set_uid("web");
  found.set_incarnation(1);
  ASSERT_TRUE(node.workers.table.Put("web", found).ok());
  node.StartLoop();
  node.Put({.uid = "web"});
  node.Settle();
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  node.Advance(7s);
  ASSERT_FALSE(node.worker.kills.empty()) << "it keeps no orphan";
  EXPECT_EQ(node.worker.kills[0].incarnation(), 0);
}

TEST(SyncLoop, AnOrphanThatCannotBeKilledIsLoggedOncePerCodeAndCountedEachTime) {
  const std::string message = "killing an orphaned pod failed, will retry";
  const std::string total = "splitlet_sync_loop_orphan_kills_total";
  Node node;
  node.PutNode();
  node.PutRuntime("lost", kOurs);
  node.worker.failure = Unavailable("away");
  node.StartLoop();
  node.Advance(1min);
  EXPECT_EQ(node.CountLines(message), 1u);
  EXPECT_GE(node.Counter(total, "UNAVAILABLE"), 10);
  node.worker.failure = DeadlineExceeded("slow");
  node.Advance(1min);
  EXPECT_EQ(node.CountLines(message), 2u);
  node.runtime.table.Remove("lost");
  node.Advance(10s);
  node.PutRuntime("lost", kOurs);
  node.Advance(1min);
  EXPECT_EQ(node.CountLines(message), 3u) << "another orphan of the same UID";
  node.worker.failure = OkStatus();
  node.Advance(5s);
  EXPECT_GE(node.Counter(total, "OK"), 1);
}

TEST(SyncLoop, NoOrphanIsKilledWithoutCertainty) {
  const struct {
    const char* name;
    std::function<void(Node&)> make;
  } kCases[] = {
      {"a source is not read", [](Node& n) { n.desired.table.SetComplete({.scopes = {"file"}}); }},
      {"pod-worker does not know all workers", [](Node& n) { n.workers.table.SetComplete({}); }},
      {"the runtime was not listed", [](Node& n) { n.runtime.table.SetComplete({}); }},
      {"pleg does not vouch for it",
       [](Node& n) {
         n.runtime.table.SetComplete({.scopes = {std::string(bus::kAll)}, .not_vouched = {"lost"}});
       }},
      {"config-source wants it", [](Node& n) { n.config.known = true; }},
      {"config-source does not answer", [](Node& n) { n.config.known = Unavailable("starting"); }},
      {"it was not made here", [](Node& n) { n.PutRuntime("lost", "other/n1"); }},
      {"nothing of it runs", [](Node& n) { n.PutRuntime("lost", kOurs, /*ready=*/false); }},
      {"the owner of `desired` is away",
       [](Node& n) {
         n.network.SetConnected("config-source", false);
         n.network.SetCallsFail("config-source", true);
       }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Node node;
    node.PutNode();
    node.PutRuntime("lost", kOurs);
    c.make(node);
    node.Settle();
    node.StartLoop();
    node.Advance(30s);
    EXPECT_EQ(node.Calls(), Calls{});
  }
}

TEST(SyncLoop, UnmanagedPodsAreReportedAndKilledOnlyWhenAskedTo) {
  for (const bool kill_unmanaged : {false, true}) {
    Node node;
    node.PutNode();
    node.PutRuntime("kubelet-made", "");
    node.StartLoop(kill_unmanaged);
    node.Advance(10s);
    EXPECT_EQ(node.worker.kills.empty(), !kill_unmanaged);
    EXPECT_EQ(node.service->GetState().unmanaged.size(), kill_unmanaged ? 0u : 1u);
  }
}

TEST(SyncLoop, AWorkerWithoutADesiredRecordIsEndedWithItsOwnGrace) {
  Node node;
  node.PutNode();
  v1::WorkerRecord record;
  record.set_uid("left");
  record.set_incarnation(3);
  record.set_granted(true);
  record.set_state(v1::SYNCING);
  ASSERT_TRUE(node.workers.table.Put("left", record).ok());
  node.StartLoop();
  node.Advance(10s);
  ASSERT_EQ(node.worker.kills.size(), 1u);
  EXPECT_EQ(node.worker.kills[0].incarnation(), 3);
  EXPECT_FALSE(node.worker.kills[0].has_grace());
}

TEST(SyncLoop, APodWithAnUnusableFileIsNeitherStartedNorStopped) {
  Node node;
  node.PutNode();
  ASSERT_TRUE(node.files.Replace("/run/sync-loop/admission/web", "garbage", {}).ok());
  node.StartLoop();
  node.Put({.uid = "web"});
  node.Put({.uid = "other"});
  node.Advance(10s);
  EXPECT_EQ(node.Calls(), Calls{"CREATE other 1/1"});
}

TEST(SyncLoop, AFileThatSaysNothingGoesWithItsPodAndOneOfALaterVersionStays) {
  Node node;
  node.PutNode();
  ASSERT_TRUE(node.files.Replace("/run/sync-loop/admission/garbage", "garbage", {}).ok());
  ASSERT_TRUE(node.files.Replace("/run/sync-loop/admission/wanted", "garbage", {}).ok());
  ASSERT_TRUE(
      node.files.Replace("/run/sync-loop/admission/newer", "splitlet-fact 9 0 0\nx", {}).ok());
  node.desired.table.SetComplete({});
  node.Settle();
  node.StartLoop();
  node.Put({.uid = "wanted"});
  const auto files = [&node] {
    std::set<std::string> names;
    const auto listed = node.files.List("/run/sync-loop/admission");
    for (const auto& entry : *listed) names.insert(entry.name);
    return names;
  };
  node.Advance(10s);
  EXPECT_EQ(files(), (std::set<std::string>{"garbage", "newer", "wanted"}))
      << "who is wanted is not known";
  node.desired.Complete();
  node.Advance(10s);
  EXPECT_EQ(files(), (std::set<std::string>{"newer", "wanted"}));
}

const char* const kCpu = "containers: [{name: c, resources: {requests: {cpu: ";

TEST(SyncLoop, ACriticalPodPushesOutWhatItNeedsAndNoMore) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "none"});
  node.Put({.uid = "burstable", .spec = std::string(kCpu) + "200m}}}]"});
  node.Put({.uid = "other", .spec = std::string(kCpu) + "500m}}}]"});
  node.Settle();
  node.worker.TakeCalls();
  node.Put({.uid = "static", .spec = std::string(kCpu) + "400m}}}]", .source = "file"});
  EXPECT_EQ(node.Calls(), (Calls{"KILL burstable 1", "CREATE static 1/1"}));
  EXPECT_EQ(node.Decision("static"), "admitted");
  EXPECT_TRUE(node.worker.kills[0].evict());
  EXPECT_EQ(node.worker.kills[0].reason(), "Preempting");
  EXPECT_EQ(node.events.all, Calls{"Preempting: Preempted in order to admit critical pod"});
  node.Put({.uid = "static-2", .spec = std::string(kCpu) + "300m}}}]", .source = "file"});
  node.Advance(5s);
  EXPECT_EQ(node.Decision("static-2"), "none") << "the victims of the first have not ended";
  node.worker.Set("burstable", v1::TERMINATED);
  node.Advance(3s);
  EXPECT_EQ(node.Calls(), (Calls{"KILL other 1", "CREATE static-2 1/1"}));
}

TEST(SyncLoop, ACriticalPodThatCannotFindRoomWaitsWhenItIsStaticAndIsRefusedOtherwise) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "a", .spec = std::string(kCpu) + "500m}}}]", .source = "file"});
  node.Settle();
  node.Put({.uid = "b", .spec = std::string(kCpu) + "600m}}}]", .source = "file"});
  node.Put({.uid = "c", .spec = std::string(kCpu) + "700m}}}], priority: 2000000001"});
  node.Settle();
  EXPECT_TRUE(node.Decision("b").starts_with("waiting, UnexpectedAdmissionError: "));
  EXPECT_TRUE(node.Decision("c").starts_with("UnexpectedAdmissionError: "));
  EXPECT_EQ(node.Calls(), Calls{"CREATE a 1/1"});
}

TEST(SyncLoop, APodThatAsksForADeviceOfAFormerKubeletIsRefused) {
  const std::string gpu =
      "containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: "
      "1}}}]";
  const std::string refused =
      "UnexpectedAdmissionError: Allocate failed due to no healthy devices present; cannot "
      "allocate "
      "unhealthy devices nvidia.com/gpu, which is unexpected";
  Node node;
  node.PutNode("1");
  v1::WorkerRecord devices;
  devices.mutable_node()->add_devices()->set_name("nvidia.com/gpu");
  ASSERT_TRUE(node.workers.table.Put("node", devices).ok());
  node.StartLoop();
  node.Put({.uid = "a", .spec = gpu});
  node.Put({.uid = "b", .spec = "containers: [{name: c}]"});
  EXPECT_EQ(node.Decision("a"), refused);
  EXPECT_EQ(node.Decision("b"), "admitted");
  node.Restart();
  node.Put({.uid = "c", .spec = gpu});
  EXPECT_EQ(node.Decision("c"), refused) << "also after a start";
  node.workers.table.Remove("node");
  node.Settle();
  node.Put({.uid = "d", .spec = gpu});
  EXPECT_EQ(node.Decision("d"), "admitted") << "set by a user in the status of the Node";
}

TEST(SyncLoop, PreemptedPodsAreKilledAfterACrashToo) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "victim", .spec = std::string(kCpu) + "800m}}}]"});
  node.Settle();
  node.worker.failure = Unavailable("away");
  node.Put({.uid = "static", .spec = std::string(kCpu) + "400m}}}]", .source = "file"});
  node.Settle();
  node.Restart();
  node.worker.TakeCalls();
  node.worker.failure = OkStatus();
  node.Advance(6s);
  Calls calls = node.Calls();  // each call has a back-off of its own
  std::sort(calls.begin(), calls.end());
  EXPECT_EQ(calls, (Calls{"CREATE static 1/1", "KILL victim 1"}));
}

TEST(SyncLoop, PressureOfThisBootRefusesAndUnknownPressureDoesNot) {
  Node node;
  node.PutNode();
  node.StartLoop();
  v1::PressureRecord record;
  record.add_conditions("DiskPressure");
  record.mutable_observed_at()->set_boot(node.clock.Now().boot + 1);
  ASSERT_TRUE(node.pressure.table.Put("node", record).ok());
  node.Settle();
  node.Put({.uid = "a"});
  node.Settle();
  EXPECT_EQ(node.Decision("a"), "admitted");
  record.mutable_observed_at()->set_boot(node.clock.Now().boot);
  ASSERT_TRUE(node.pressure.table.Put("node", record).ok());
  node.Settle();
  node.Put({.uid = "b"});
  node.Settle();
  EXPECT_EQ(node.Decision("b"), "Evicted: The node had condition: [DiskPressure]. ");
}

TEST(SyncLoop, ANodeThatShutsDownRefusesUntilThatIsCalledOff) {
  Node node;
  node.PutNode();
  node.StartLoop();
  v1::PressureRecord record;
  record.set_shutting_down(true);
  record.mutable_observed_at()->set_boot(node.clock.Now().boot);
  ASSERT_TRUE(node.pressure.table.Put("node", record).ok());
  node.Settle();
  node.Put({.uid = "a"});
  node.Settle();
  EXPECT_EQ(node.Decision("a"), "NodeShutdown: Pod was rejected as the node is shutting down.");
  record.set_shutting_down(false);
  ASSERT_TRUE(node.pressure.table.Put("node", record).ok());
  node.Settle();
  node.Put({.uid = "b"});
  node.Settle();
  EXPECT_EQ(node.Decision("b"), "admitted");
}

TEST(SyncLoop, RemovedAndUnconfirmedPodsAreNeverStarted) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "removed", .state = v1::DesiredRecord::REMOVED});
  node.Put({.uid = "unconfirmed", .state = v1::DesiredRecord::UNCONFIRMED});
  node.Put({.uid = "mirror", .state = v1::DesiredRecord::MIRROR});
  node.Put({.uid = "deleted", .metadata = ", deletionTimestamp: '2026-01-01T00:00:00Z'"});
  node.Advance(2min);
  EXPECT_EQ(node.Calls(), Calls{});
  for (const char* uid : {"removed", "unconfirmed", "mirror", "deleted"})
    EXPECT_EQ(node.Decision(uid), "none");
}

TEST(SyncLoop, TheTraceOfAChangeIsOnItsDecisionAndItsCalls) {
  Random random(3);
  const std::string first = MakeTraceparent(random), second = MakeTraceparent(random),
                    last = MakeTraceparent(random);
  Node node;
  node.PutNode();
  bus::FakeBus reader(node.network, "reader", node.owners);
  auto admission = *bus::ViewOf<v1::AdmissionRecord>(reader, "admission");
  std::vector<std::string> decisions;
  admission.OnChange([&](const auto& change) { decisions.push_back(change.traceparent); });
  node.StartLoop();
  node.Put({.uid = "web", .traceparent = first});
  ASSERT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  node.Put({.uid = "web", .generation = 2, .traceparent = second});
  ASSERT_EQ(node.Calls(), Calls{"UPDATE web 1/2"});
  node.Put({.uid = "web", .state = v1::DesiredRecord::REMOVED, .traceparent = last});
  ASSERT_EQ(node.Calls(), Calls{"KILL web 1"});
  EXPECT_EQ(node.worker.traces, (std::vector<std::string>{first, second, last}));
  EXPECT_EQ(decisions, std::vector<std::string>{first});
  bool logged = false;
  for (const auto& line : node.log_sink.lines())
    for (const auto& field : line.fields)
      logged = logged || (line.message == "pod admitted" && field.key == kTraceIdField &&
                          field.value == TraceIdOf(first));
  EXPECT_TRUE(logged);
}

TEST(SyncLoop, ASyncCarriesTheTraceOfWhatTheRuntimeShowed) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web", .traceparent = "00-manifest"});
  node.Settle();
  node.PutRuntime("web", kOurs);
  node.Settle();
  node.worker.failure = Unavailable("away");
  node.PutRuntime("web", kOurs, /*ready=*/false, "00-exit");
  node.Settle();
  node.worker.failure = OkStatus();
  node.Advance(3s);
  EXPECT_EQ(node.worker.TakeCalls(), (Calls{"CREATE web 1/1", "SYNC web 1/1"}));
  ASSERT_GE(node.worker.traces.size(), 3u) << "one was not taken";
  EXPECT_EQ(node.worker.traces[0], "00-manifest");
  EXPECT_EQ(node.worker.traces[1], "00-exit");
  EXPECT_EQ(node.worker.traces.back(), "00-exit");
}

TEST(SyncLoop, AChangeThatIsPutAgainWithoutItsTraceKeepsIt) {
  Node node;
  node.PutNode();
  node.worker.failure = Unavailable("away");
  node.StartLoop();
  node.Put({.uid = "web", .traceparent = "00-t"});
  node.Settle();
  node.Put({.uid = "web", .created = 1});
  node.Settle();
  node.worker.failure = OkStatus();
  node.worker.traces.clear();
  node.Advance(10s);
  ASSERT_EQ(node.worker.TakeCalls(), Calls{"CREATE web 1/1"});
  EXPECT_EQ(node.worker.traces.front(), "00-t");
}

}  // namespace
}  // namespace splitlet::sync_loop
