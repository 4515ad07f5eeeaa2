// Which pods get the resources of the node, and which wait for them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/sync-loop/sync_loop_fixture.h"

namespace splitlet::sync_loop {
namespace {

using Calls = std::vector<std::string>;
constexpr auto kRemovedState = v1::DesiredRecord::REMOVED;

const std::string kPort =
    "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]";
const std::string kOnHost =
    "hostNetwork: true, containers: [{name: c, ports: [{containerPort: 81, hostPort: 81, protocol: "
    "TCP}]}]";
constexpr const char* kNoPort =
    "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod "
    "ports";

std::string Cpu(const std::string& amount) {
  return "containers: [{name: c, resources: {requests: {cpu: " + amount + "}}}]";
}

/// A static pod; every version of it has a UID of its own and the same name.
Node::Want Static(const std::string& uid, const std::string& spec, int64_t incarnation = 1) {
  return {.uid = uid, .spec = spec, .source = "file", .incarnation = incarnation, .name = "web"};
}

Node::Want Removed(Node::Want want) {
  want.state = kRemovedState;
  return want;
}

TEST(Room, AnEditedStaticPodReplacesTheOneItWouldNotFitBeside) {
  const struct {
    const char *name, *reason;
    std::string spec;
  } kCases[] = {
      {"a host port", "waiting, NodePorts", kPort},
      {"a port of the host's network", "waiting, NodePorts", kOnHost},
      {"more than half of the node", "waiting, OutOfcpu", Cpu("600m")},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Node node;
    node.PutNode("1");
    node.StartLoop();
    node.Put({.uid = "bystander", .spec = Cpu("100m")});
    node.Put(Static("old", c.spec, 1));
    node.Settle();
    // In either order: the new version may be seen first.
    node.Put(Static("new", c.spec, 2));
    node.Settle();
    EXPECT_TRUE(node.Decision("new").starts_with(c.reason)) << node.Decision("new");
    node.Put(Removed(Static("old", c.spec, 1)));
    node.Advance(5s);
    EXPECT_EQ(node.Calls(), (Calls{"CREATE bystander 1/1", "CREATE old 1/1", "KILL old 1"}))
        << "the resources of the old version become free: no pod is preempted";
    EXPECT_TRUE(node.Decision("new").starts_with(c.reason));
    node.worker.Set("old", v1::TERMINATED);
    EXPECT_EQ(node.Calls(), Calls{"CREATE new 2/1"});
    EXPECT_EQ(node.Decision("new"), "admitted");
    EXPECT_EQ(node.events.all.size(), 1u);
  }
}

TEST(Room, ASecondPodWithTheSameHostPortWaitsIsToldOnceAndRunsWhenTheFirstGoes) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "first", .spec = kPort, .source = "file"});
  node.Put({.uid = "second", .spec = kPort, .source = "file", .incarnation = 2});
  node.Settle();
  EXPECT_EQ(node.Decision("second"), std::string("waiting, ") + kNoPort);
  EXPECT_EQ(node.service->GetState().waiting, 1u);
  EXPECT_EQ(node.service->GetState().rejected, 0u);
  node.Advance(1h);
  node.Restart();
  node.Advance(1min);
  EXPECT_EQ(node.events.all, Calls{kNoPort}) << "recorded once, also over a restart";
  EXPECT_EQ(node.Decision("second"), std::string("waiting, ") + kNoPort);
  node.worker.TakeCalls();
  node.worker.Set("first", v1::FINISHED);
  EXPECT_EQ(node.Calls(), Calls{"CREATE second 2/1"});
}

TEST(Room, AStaticPodWaitsAlsoAfterARebootAndAfterAnAdmissionThatWasNeverGranted) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "first", .spec = kPort, .source = "file"});
  node.Put({.uid = "second", .spec = kPort, .source = "file", .incarnation = 2});
  node.Settle();
  node.Crash();
  ASSERT_TRUE(node.files.RemoveTree("/run/sync-loop").ok());  // as the kernel forgets it
  node.workers.table.Remove("first");
  node.events.all.clear();
  node.worker.TakeCalls();
  node.worker.mute = true;
  node.StartLoop();
  node.Advance(1s);
  EXPECT_EQ(node.worker.TakeCalls(), Calls{"CREATE first 1/1"}) << "the older one, as before";
  EXPECT_EQ(node.events.all, Calls{kNoPort});
  EXPECT_EQ(node.Decision("second"), std::string("waiting, ") + kNoPort);
  node.Put({.uid = "first", .spec = kPort, .source = "file", .state = kRemovedState});
  node.Advance(10s);
  EXPECT_EQ(node.Decision("second"), "admitted") << "nothing of the first is granted or will be";
}

TEST(Room, AnApiPodWaitsForWhatEndsAndIsRefusedForWhatStays) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "a", .spec = Cpu("600m")});
  node.Settle();
  node.Put({.uid = "refused", .spec = Cpu("600m")});
  node.Settle();
  EXPECT_TRUE(node.Decision("refused").starts_with("OutOfcpu"));
  node.Put({.uid = "a", .spec = Cpu("600m"), .state = kRemovedState});
  node.Settle();
  node.Put({.uid = "waits", .spec = Cpu("600m"), .created = 1});
  node.Put({.uid = "late", .spec = Cpu("500m"), .created = 2});
  node.Advance(1min);
  EXPECT_EQ(node.Decision("waits"), "none");
  EXPECT_TRUE(node.Decision("late").starts_with("OutOfcpu"))
      << "the older pod will have those resources";
  EXPECT_EQ(node.service->GetState().waiting_reason, "OutOfcpu, until resources are free");
  node.worker.Set("a", v1::TERMINATED);
  node.Settle();
  EXPECT_EQ(node.Decision("waits"), "admitted");
  EXPECT_TRUE(node.Decision("refused").starts_with("OutOfcpu")) << "never decided again";
}

TEST(Room, NoYoungerApiPodTakesWhatAStaticPodWaitsFor) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "first", .spec = Cpu("500m"), .source = "file"});
  node.Settle();
  node.Put({.uid = "static", .spec = Cpu("800m"), .source = "file", .incarnation = 2000});
  node.Put({.uid = "huge", .spec = Cpu("9"), .source = "file", .incarnation = 2001});
  node.Settle();
  node.Put({.uid = "older", .spec = Cpu("100m"), .created = 1});
  node.Put({.uid = "younger", .spec = Cpu("150m"), .created = 3});
  node.Settle();
  EXPECT_TRUE(node.Decision("static").starts_with("waiting, "));
  EXPECT_EQ(node.Decision("older"), "admitted");
  EXPECT_TRUE(node.Decision("younger").starts_with("OutOfcpu")) << node.Decision("younger");
  node.Put({.uid = "static",
            .spec = Cpu("800m"),
            .source = "file",
            .incarnation = 2000,
            .state = kRemovedState});
  node.Settle();
  node.Put({.uid = "youngest", .spec = Cpu("150m"), .created = 4});
  node.Settle();
  EXPECT_EQ(node.Decision("youngest"), "admitted")
      << "a pod that never fits on this node keeps no other pod away";
}

TEST(Room, WhatIsGoneCountsNoMoreAtTheStart) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "a", .spec = Cpu("600m")});
  node.Settle();
  node.Crash();
  // While sync-loop is away its pod ends, and all records of it go.
  node.workers.table.Remove("a");
  node.desired.table.Remove("a");
  node.Put({.uid = "b", .spec = Cpu("600m")});
  node.StartLoop();
  node.Settle();
  EXPECT_EQ(node.Decision("b"), "admitted");
}

TEST(Room, AWorkerWhoseEndWasNotSeenCountsNoMore) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "a", .spec = Cpu("600m")});
  node.Settle();
  node.Put({.uid = "a", .spec = Cpu("600m"), .state = kRemovedState});
  node.Settle();
  node.Put({.uid = "b", .spec = Cpu("600m")});
  node.Advance(5s);
  EXPECT_EQ(node.Decision("b"), "none");
  node.workers.table.Remove("a");
  node.Settle();
  EXPECT_EQ(node.Decision("b"), "admitted");
}

TEST(Room, OneUnreachableSourceKeepsNoAdmissionOfAnother) {
  Node node;
  node.PutNode("1");
  node.desired.table.SetComplete({.scopes = {"file"}});
  node.StartLoop();
  node.Put({.uid = "a", .spec = Cpu("600m"), .source = "file"});
  node.Settle();
  EXPECT_EQ(node.Decision("a"), "admitted");
  node.Crash();
  node.workers.table.Remove("a");
  node.desired.table.Remove("a");
  node.StartLoop();
  node.Advance(5s);
  EXPECT_EQ(node.Decision("a"), "none");
  EXPECT_TRUE(node.files.List("/run/sync-loop/admission")->empty());
}

TEST(Room, ARunningPodWithoutAFileHoldsWhatItWants) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "a", .spec = Cpu("600m")});
  node.Settle();
  node.Put({.uid = "a", .spec = Cpu("600m"), .state = kRemovedState});
  node.Settle();
  node.Crash();
  ASSERT_TRUE(node.files.RemoveTree("/run/sync-loop").ok());
  node.StartLoop();
  node.Put({.uid = "b", .spec = Cpu("600m")});
  node.Advance(5s);
  EXPECT_EQ(node.Decision("b"), "none") << "a ends, and holds its resources until then";
  node.worker.Set("a", v1::TERMINATED);
  node.Settle();
  EXPECT_EQ(node.Decision("b"), "admitted");
}

TEST(Room, OnAColdStartTheOlderPodGetsTheRoomInWhateverOrderTheyAreShown) {
  for (const bool completes : {true, false}) {
    SCOPED_TRACE(completes);
    Node node;
    node.PutNode("1");
    node.desired.table.SetComplete({});
    node.Settle();
    node.StartLoop();
    node.Put({.uid = "a-young", .spec = Cpu("600m"), .source = "file", .incarnation = 20});
    node.Advance(1s);
    EXPECT_EQ(node.Calls(), Calls{}) << "older pods of the source may be shown next";
    node.Put({.uid = "b-old", .spec = Cpu("600m"), .source = "file", .incarnation = 10});
    if (completes) node.desired.table.SetComplete({.scopes = {"file"}});
    node.Advance(completes ? 1s : 3s);
    EXPECT_EQ(node.Calls(), Calls{"CREATE b-old 10/1"});
    EXPECT_TRUE(node.Decision("a-young").starts_with("waiting, "));
    node.desired.table.SetComplete({});
    node.Settle();
    node.Put({.uid = "c-small", .spec = Cpu("1m"), .source = "file", .incarnation = 30});
    EXPECT_EQ(node.Calls(), Calls{"CREATE c-small 30/1"}) << "waited for once";
  }
}

TEST(Room, AStaticPodPushesOutOthersBeforeItWaits) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "api", .spec = Cpu("300m")});
  node.Put({.uid = "critical", .spec = Cpu("500m"), .source = "file"});
  node.Settle();
  node.worker.TakeCalls();
  node.Put({.uid = "fits", .spec = Cpu("500m"), .source = "file", .incarnation = 2});
  EXPECT_EQ(node.Calls(), (Calls{"KILL api 1", "CREATE fits 2/1"}));
}

TEST(Abilities, APodThatAsksForThemWaitsUntilTheyAreKnownAndIsRefusedWithoutThem) {
  for (const bool supported : {false, true}) {
    SCOPED_TRACE(supported);
    Node node;
    node.PutNode();
    node.StartLoop();
    const std::string strict =
        "containers: [{name: c}], securityContext: {supplementalGroupsPolicy: Strict}";
    node.Put({.uid = "static", .spec = strict, .source = "file"});
    node.Put({.uid = "api", .spec = strict});
    node.Put({.uid = "plain"});
    node.Advance(1min);
    EXPECT_EQ(node.Calls(), Calls{"CREATE plain 1/1"});
    EXPECT_EQ(node.Decision("static"), "none");
    EXPECT_EQ(node.service->GetState().waiting_reason,
              "the features of the runtime are not known yet");
    node.features.set_known(true);
    node.features.set_supplemental_groups_policy(supported);
    node.PutNode();
    node.Settle();
    const std::string want = supported ? "admitted"
                                       : "SupplementalGroupsPolicyNotSupported: "
                                         "SupplementalGroupsPolicy=Strict is not supported in "
                                         "this node";
    EXPECT_EQ(node.Decision("static"), want);
    EXPECT_EQ(node.Decision("api"), want);
    if (supported) continue;
    // The runtime was replaced: only a restart decides about the static pod again.
    node.features.set_supplemental_groups_policy(true);
    node.PutNode();
    node.Advance(1min);
    EXPECT_EQ(node.Decision("static"), want);
    node.Restart();
    EXPECT_EQ(node.Decision("static"), "admitted");
    EXPECT_EQ(node.Decision("api"), want);
  }
}

/// Before the next tick, which decides all waiting pods in any case.
TEST(AllocatedResources, APodThatIsRemovedBeforeItsGrantFreesItsResourcesImmediately) {
  Node node;
  node.PutNode("1");
  node.worker.failure = Unavailable("away");
  node.StartLoop();
  const std::string spec = "containers: [{name: c, resources: {requests: {cpu: 600m}}}]";
  node.Put({.uid = "first", .spec = spec});
  node.Settle();
  node.Put({.uid = "second", .spec = spec, .source = "file"});
  EXPECT_TRUE(node.Decision("second").starts_with("waiting, ")) << node.Decision("second");
  node.Put({.uid = "first", .spec = spec, .state = v1::DesiredRecord::REMOVED});
  EXPECT_EQ(node.Decision("second"), "admitted");
}

}  // namespace
}  // namespace splitlet::sync_loop
