#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/sync-loop/sync_loop_fixture.h"

/// What of an edited pod reaches pod-worker.

namespace splitlet::sync_loop {
namespace {

using Calls = std::vector<std::string>;

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

}  // namespace
}  // namespace splitlet::sync_loop
