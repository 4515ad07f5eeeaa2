#include <gtest/gtest.h>

#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Pods that end because the node shuts down.

namespace splitlet::pod_worker {
namespace {

class EndWithTheNode : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  static v1::KillPodRequest Request(const std::string& id, int64_t incarnation = 1) {
    v1::KillPodRequest request;
    request.set_uid("uid-web");
    request.set_incarnation(incarnation);
    request.set_request_id(id);
    return request;
  }
};

/// config-source gives it another incarnation in another boot.
TEST_F(EndWithTheNode, ThatAPodEndedWithTheNodeIsKnownInTheNextBoot) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  auto request = Request("1");
  request.set_evict(true);
  request.set_node_shutdown(true);
  request.set_reason("Terminated");
  request.set_message("Pod was terminated in response to imminent node shutdown.");
  ASSERT_TRUE(KillPod(request).ok());
  RunFor(1s);
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
  EXPECT_EQ(Record()->terminal_status().reason(), "Terminated");
  EXPECT_EQ(Record()->shutdown_boot(), clock.Now().boot);
  const uint64_t boot = clock.Now().boot;
  files.PowerCut();
  Reboot();
  Start();
  RunFor(5s);
  EXPECT_EQ(Record()->shutdown_boot(), boot);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  RunFor(1s);
  EXPECT_EQ(Record()->incarnation(), 2);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_EQ(Record()->shutdown_boot(), 0U);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1U);
}

TEST_F(EndWithTheNode, WhatEndsForAnotherReasonOrRunsOnceEndsForGood) {
  const struct {
    const char* name;
    TestPod pod;
    const char* first;  // the reason of an earlier end
  } cases[] = {
      {"a pod of the API: who made it makes another", {.source = "api"}, ""},
      {"one that is not to run again", {.policy = "Never"}, ""},
      {"one that ends already", {}, "DeadlineExceeded"},
  };
  int64_t incarnation = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ++incarnation;
    ASSERT_TRUE(RunPod(c.pod.Make(), incarnation).ok());
    auto request = Request("1", incarnation);
    if (*c.first != '\0') {
      request.set_reason(c.first);
      ASSERT_TRUE(KillPod(request).ok());
    }
    request.set_request_id("2");
    request.set_evict(true);
    request.set_node_shutdown(true);
    request.set_reason("Terminated");
    ASSERT_TRUE(KillPod(request).ok());
    RunFor(60s);
    EXPECT_EQ(Record()->state(), v1::FINISHED);
    EXPECT_EQ(Record()->shutdown_boot(), 0U);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
