#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/sync-loop/sync_loop_fixture.h"

/// Admission of API pods, where it differs from that of static pods.

namespace splitlet::sync_loop {
namespace {

using Calls = std::vector<std::string>;

TEST(ApiPods, WaitUntilTheServerHasTheNodeAndStaticPodsDoNot) {
  Node node;
  node.registered = false;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "api"});
  node.Put({.uid = "static", .source = "file"});
  node.Advance(10min);
  EXPECT_EQ(node.Calls(), Calls{"CREATE static 1/1"});
  EXPECT_EQ(node.service->GetState().waiting_reason, "the API server does not have this node yet");
  node.registered = true;
  node.PutNode();
  EXPECT_EQ(node.Calls(), Calls{"CREATE api 1/1"});
}

TEST(ApiPods, WhereTheyMayStartOfflineLabelsRefuseNobodyBeforeTheServerHasTheNode) {
  Node node;
  node.registered = false;
  node.offline_start = true;
  node.PutNode("1", "a");
  node.StartLoop();
  node.Put({.uid = "any"});
  node.Put({.uid = "here", .spec = "containers: [{name: c}], nodeSelector: {zone: b}"});
  node.Put({.uid = "unconfirmed", .state = v1::DesiredRecord::UNCONFIRMED});
  node.Advance(1min);
  EXPECT_EQ(node.Calls(), Calls{"CREATE any 1/1"});
  EXPECT_EQ(node.Decision("here"), "none");
  node.registered = true;
  node.PutNode("1", "b");
  EXPECT_EQ(node.Calls(), Calls{"CREATE here 1/1"});
  node.Put({.uid = "there", .spec = "containers: [{name: c}], nodeSelector: {zone: c}"});
  node.Advance(5s);
  EXPECT_EQ(node.Decision("there"),
            "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
            "affinity/selector");
}

TEST(ApiPods, ARefusedOneIsNeverJudgedAgain) {
  Node node;
  node.PutNode();
  node.StartLoop();
  const std::string spec = "containers: [{name: c}], nodeSelector: {zone: b}";
  node.Put({.uid = "web", .spec = spec});
  node.Advance(5s);
  ASSERT_TRUE(node.Decision("web").starts_with("NodeAffinity"));
  node.PutNode("1", "b");
  node.Put({.uid = "web", .spec = spec, .metadata = ", labels: {a: b}", .generation = 2});
  node.Advance(1min);
  node.Restart();
  node.Advance(1min);
  EXPECT_TRUE(node.Decision("web").starts_with("NodeAffinity"));
  EXPECT_EQ(node.Calls(), Calls{});
}

TEST(ApiPods, AreJudgedInTheOrderOfTheirCreation) {
  Node node;
  node.StartLoop();
  const std::string most = "containers: [{name: c, resources: {requests: {cpu: 600m}}}]";
  node.Put({.uid = "a", .spec = most, .incarnation = 1, .created = 300});
  node.Put({.uid = "b", .spec = most, .incarnation = 2, .created = 100});
  node.Put({.uid = "c", .spec = most, .incarnation = 3, .created = 200});
  node.Settle();
  node.PutNode("1");
  node.Settle();
  EXPECT_EQ(node.Decision("b"), "admitted");
  EXPECT_TRUE(node.Decision("a").starts_with("OutOfcpu"));
  EXPECT_TRUE(node.Decision("c").starts_with("OutOfcpu"));
}

TEST(ApiPods, AStatusThatFollowsMakesNoCall) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "web"});
  ASSERT_EQ(node.Calls(), Calls{"CREATE web 1/1"});
  auto record = *node.desired.table.Get("web");
  kube::Pod pod;
  ASSERT_TRUE(pod.ParseFromString(record.pod()));
  pod.mutable_status()->set_phase("Running");
  record.set_pod(pod.SerializeAsString());
  ASSERT_TRUE(node.desired.table.Put("web", record).ok());
  node.Advance(1min);
  EXPECT_EQ(node.Calls(), Calls{});
}

TEST(ApiPods, WhatHasEndedAtFirstSightIsNotStartedAndWhatOthersEndIsKilled) {
  Node node;
  node.PutNode();
  node.StartLoop();
  const auto put = [&node](const std::string& uid, const std::string& phase) {
    node.Put({.uid = uid});
    auto record = *node.desired.table.Get(uid);
    kube::Pod pod;
    ASSERT_TRUE(pod.ParseFromString(record.pod()));
    pod.mutable_status()->set_phase(phase);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(node.desired.table.Put(uid, record).ok());
  };
  put("done", "Succeeded");
  put("broken", "Failed");
  put("runs", "Running");
  node.Advance(1min);
  EXPECT_EQ(node.Calls(), Calls{"CREATE runs 1/1"});
  EXPECT_EQ(node.Decision("done"), "none");
  put("runs", "Failed");
  EXPECT_EQ(node.Calls(), Calls{"KILL runs 1"});
}

TEST(ApiPods, AMirrorPodTakesNoRoomAndIsNoOrphan) {
  Node node;
  node.PutNode("1");
  node.StartLoop();
  const std::string all = "containers: [{name: c, resources: {requests: {cpu: 1}}}]";
  node.Put({.uid = "mirror", .spec = all, .state = v1::DesiredRecord::MIRROR, .name = "local-n1"});
  node.Put({.uid = "static", .spec = all, .source = "file", .name = "local-n1"});
  node.Advance(1min);
  EXPECT_EQ(node.Calls(), Calls{"CREATE static 1/1"});
  node.desired.table.Remove("mirror");
  node.Advance(1min);
  EXPECT_EQ(node.Calls(), Calls{});
  EXPECT_EQ(node.config.asked, 0);
}

TEST(ApiPods, OfOneFullNameAStaticAndAnApiPodBothRun) {
  Node node;
  node.PutNode();
  node.StartLoop();
  node.Put({.uid = "static", .source = "file", .name = "web"});
  node.Put({.uid = "api", .name = "web"});
  node.Settle();
  EXPECT_EQ(node.Decision("static"), "admitted");
  EXPECT_EQ(node.Decision("api"), "admitted");
}

}  // namespace
}  // namespace splitlet::sync_loop
