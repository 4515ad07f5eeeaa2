#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::HasSubstr;

class Checkpoint : public NodeApiTest {
 protected:
  void StartWithPod() {
    AllowAll();
    Start();
    PutPod();
  }
  /// `target` is the rest of a path below /checkpoint/default/.
  std::string Make(const std::string& target) {
    return Text({.method = "POST", .target = "/checkpoint/default/" + target});
  }
};

TEST_F(Checkpoint, IsAnArchiveThatPodWorkerNames) {
  StartWithPod();
  EXPECT_EQ(Make("web/app?timeout=5&timeout=300"), R"(200 {"items":["/root/checkpoints/a.tar"]})");
  ASSERT_EQ(pod_calls->asked.size(), 1U);
  EXPECT_EQ(pod_calls->asked[0].uid(), "u1");
  EXPECT_EQ(pod_calls->asked[0].container_id(), "c1");
  EXPECT_EQ(pod_calls->asked[0].timeout_seconds(), 300) << "the last one counts";
  EXPECT_EQ(
      Send({.method = "POST", .target = "/checkpoint/default/web/app"})->Header("Content-Type"),
      "application/json");
}

TEST_F(Checkpoint, MayTakeLongerThanACall) {
  StartWithPod();
  pod_calls->unfinished = 3;
  EXPECT_EQ(Make("web/app"), R"(200 {"items":["/root/checkpoints/a.tar"]})");
  ASSERT_EQ(pod_calls->asked.size(), 4U);
  for (const auto& asked : pod_calls->asked)
    EXPECT_EQ(asked.request_id(), pod_calls->asked[0].request_id()) << "it is one archive";
  EXPECT_EQ(Make("web/app"), R"(200 {"items":["/root/checkpoints/a.tar"]})");
  EXPECT_NE(pod_calls->asked[4].request_id(), pod_calls->asked[0].request_id());
}

TEST_F(Checkpoint, WhatIsRefused) {
  StartWithPod();
  const struct {
    const char* name;
    const char* target;
    const char* want;
  } kCases[] = {
      {"no such pod", "no/app", "404 pod does not exist"},
      {"no such container", "web/no", "404 container no does not exist"},
      {"a timeout that is no number", "web/app?timeout=abc",
       "404 cannot parse value of timeout parameter"},
      {"the last of two is none", "web/app?timeout=5&timeout=5s",
       "404 cannot parse value of timeout parameter"},
      {"an empty one", "web/app?timeout=", "404 cannot parse value of timeout parameter"},
      {"less than none", "web/app?timeout=-1",
       "500 checkpointing of default/web/app failed (CheckpointContainer requires the timeout "
       "value to be > 0)"},
      {"a container that does not run", "web/done",
       "500 checkpointing of default/web/done failed (container done not found)"},
      {"no container", "web", "404 404: Page Not Found"},
      {"a step too many", "web/app/more", "404 404: Page Not Found"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Make(c.target), c.want);
  }
  EXPECT_TRUE(pod_calls->asked.empty());
  EXPECT_EQ(Code({.target = "/checkpoint/default/web/app"}), 405) << "GET";
}

TEST_F(Checkpoint, WhatTheRuntimeRefusesHasTheWordsOfGo) {
  StartWithPod();
  const struct {
    const char* name;
    Status status;
    const char* want;
  } kCases[] = {
      {"a runtime that makes none",
       Unimplemented("unknown method CheckpointContainer for service runtime.v1.RuntimeService"),
       "500 checkpointing of default/web/app failed (rpc error: code = Unimplemented desc = "
       "unknown method CheckpointContainer for service runtime.v1.RuntimeService)"},
      {"it is gone", NotFound("no such container"),
       "500 checkpointing of default/web/app failed (rpc error: code = NotFound desc = no such "
       "container)"},
      {"a code without a name", MakeStatus(StatusCode::kDataLoss, "lost"),
       "500 checkpointing of default/web/app failed (rpc error: code = Unknown desc = lost)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    pod_calls->location = c.status;
    EXPECT_EQ(Make("web/app"), c.want);
  }
}

TEST_F(Checkpoint, NobodyWaitsOnceTheClientIsGoneOrTheProcessEnds) {
  StartWithPod();
  pod_calls->unfinished = 1000;
  pod_calls->on_checkpoint = [this] {
    if (pod_calls->asked.size() == 3) service->BeginStop();
  };
  EXPECT_THAT(Make("web/app"), HasSubstr("code = Canceled desc = given up"));
  EXPECT_EQ(pod_calls->asked.size(), 4U);
}

TEST_F(Checkpoint, HasARightOfItsOwn) {
  reviewer->rights = {"bob create checkpoint"};
  Start();
  PutPod();
  EXPECT_EQ(Make("web/app"), R"(200 {"items":["/root/checkpoints/a.tar"]})");
  reviewer->rights = {"alice create proxy"};
  EXPECT_EQ(Code({.method = "POST", .target = "/checkpoint/default/web/app", .token = ""}), 401);
}

}  // namespace
}  // namespace splitlet::node_api
