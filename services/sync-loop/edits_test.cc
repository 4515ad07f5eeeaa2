#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/sync-loop/sync_loop_fixture.h"

/// The parts of an edited pod that reach pod-worker, and the parsing on the way.

namespace splitlet::sync_loop {
namespace {

using Calls = std::vector<std::string>;

/// With the two of pod-worker, four from the record in `desired` to the sandbox.
TEST(SyncLoop, APodIsParsedOnceForItsRecordAndOnceForItsDecision) {
  Node node;
  node.PutNode();
  node.StartLoop();
  const uint64_t before = kube::PodBytes::parses();
  node.Put({.uid = "web"});
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  EXPECT_LE(kube::PodBytes::parses() - before, 2u);
}

TEST(SyncLoop, ARecordOfNoPodStartsAndStopsNothing) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web"});
  EXPECT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  auto record = node.desired.table.Get("web");
  record->set_generation(2);
  record->set_pod("\xff\xff");
  record->set_state(v1::DesiredRecord::REMOVED);
  ASSERT_TRUE(node.desired.table.Put("web", *record).ok());
  node.Advance(10s);
  EXPECT_EQ(node.Calls(), Calls{});
  node.Put({.uid = "web", .generation = 2, .state = v1::DesiredRecord::REMOVED});
  EXPECT_EQ(node.Calls(), Calls{"KILL web 1"});
}

TEST(SyncLoop, ResourcesStayAsAdmitted) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  node.Put({.uid = "web",
            .spec = "containers: [{name: c, image: v1, resources: {requests: {cpu: 500m}}}]"});
  node.Settle();
  node.Put({.uid = "web",
            .spec = "containers: [{name: c, image: v2, resources: {requests: {cpu: 50}}}]",
            .generation = 2});
  EXPECT_EQ(node.Calls(), (Calls{"CREATE web 1/1", "UPDATE web 1/2"}));
  kube::Pod pod;
  ASSERT_TRUE(pod.ParseFromString(node.worker.pods.at("web")));
  EXPECT_EQ(pod.spec().containers(0).image(), "v2");
  EXPECT_EQ(pod.spec().containers(0).resources().requests().at("cpu").string(), "500m");
}

/// The one change of a running pod's list of containers that an API server allows.
TEST(SyncLoop, AnEphemeralContainerThatIsAddedIsGrantedWithItsPod) {
  Node node;
  node.PutNode();
  node.StartLoop();
  const std::string spec = "containers: [{name: c, image: v1}]";
  node.Put({.uid = "web", .spec = spec});
  node.Settle();
  node.Put(
      {.uid = "web",
       .spec = spec + ", ephemeralContainers: [{name: debug, image: x, targetContainerName: c}]",
       .generation = 2});
  EXPECT_EQ(node.Calls(), (Calls{"CREATE web 1/1", "UPDATE web 1/2"}));
  kube::Pod pod;
  ASSERT_TRUE(pod.ParseFromString(node.worker.pods.at("web")));
  ASSERT_EQ(pod.spec().ephemeral_containers_size(), 1);
  EXPECT_EQ(pod.spec().ephemeral_containers(0).target_container_name(), "c");
}

/// A static pod with a UID of its own: an API server would not let anybody edit these fields.
TEST(SyncLoop, AnEditThatNeedsWhatTheNodeLacksIsToldOnceAndNotHeldUp) {
  Node node;
  node.features.set_known(true);
  node.features.add_handlers()->set_user_namespaces(true);
  node.PutNode();
  node.StartLoop();
  const std::string spec = "containers: [{name: c}], hostUsers: false";
  node.Put({.uid = "web", .spec = spec, .source = "file"});
  node.Settle();
  node.Put({.uid = "web", .spec = spec + ", hostNetwork: true", .source = "file", .generation = 2});
  EXPECT_EQ(node.Calls(), (Calls{"CREATE web 1/1", "UPDATE web 1/2"}));
  EXPECT_EQ(node.Decision("web"), "admitted");
  const std::vector<std::string> recorded = {
      "FailedNodeDeclaredFeaturesCheck: Pod requires node features that are not available: "
      "UserNamespacesHostNetworkSupport"};
  EXPECT_EQ(node.events.all, recorded);
  node.Put({.uid = "web",
            .spec = spec + ", hostNetwork: true, terminationGracePeriodSeconds: 3",
            .source = "file",
            .generation = 3});
  node.Settle();
  EXPECT_EQ(node.events.all, recorded) << "this edit needs nothing new";
}

TEST(Admission, WhatAnEditNeedsAndTheNodeLacks) {
  kube::PodSpec plain, claims, both;
  claims.add_resource_claims()->set_name("gpu");
  both = claims;
  both.set_host_users(false);
  both.set_host_network(true);
  const std::string text = "Pod requires node features that are not available: ";
  EXPECT_EQ(LackAfterEdit(plain, plain), "");
  EXPECT_EQ(LackAfterEdit(claims, plain), "");
  EXPECT_EQ(LackAfterEdit(claims, claims), "");
  EXPECT_EQ(LackAfterEdit(plain, claims), text + "DynamicResourceAllocation");
  EXPECT_EQ(LackAfterEdit(claims, both), text + "UserNamespacesHostNetworkSupport");
  EXPECT_EQ(LackAfterEdit(plain, both),
            text + "DynamicResourceAllocation, UserNamespacesHostNetworkSupport");
}

}  // namespace
}  // namespace splitlet::sync_loop
