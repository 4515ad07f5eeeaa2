#include "services/pod-worker/node/pod_cidr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/cri/fake_network_config.h"
#include "libs/exec/fake_exec.h"
#include "libs/fake_api/api_server.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Cidrs = std::vector<std::string>;

kube::Node NodeOf(const Cidrs& cidrs, const std::string& first = "") {
  kube::Node node;
  node.mutable_metadata()->set_name("n1");
  for (const auto& cidr : cidrs) node.mutable_spec()->add_pod_cidrs(cidr);
  if (!first.empty()) node.mutable_spec()->set_pod_cidr(first);
  return node;
}

TEST(PodCidrOf, IsAllThatTheNodeHas) {
  const struct {
    const char* name;
    Cidrs cidrs;
    const char* first;
    const char* want;
  } kCases[] = {
      {"none yet", {}, "", ""},
      {"one family", {"10.1.0.0/24"}, "10.1.0.0/24", "10.1.0.0/24"},
      {"two families", {"10.1.0.0/24", "fd00::/64"}, "10.1.0.0/24", "10.1.0.0/24,fd00::/64"},
      {"one that an older controller gave", {}, "10.1.0.0/24", "10.1.0.0/24"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(PodCidrOf(NodeOf(c.cidrs, c.first)), c.want);
  }
}

class PodCidrTest : public testing::Test {
 protected:
  static constexpr const char* kNode = "/api/v1/nodes/n1";

  void Start(const std::string& configured, bool with_api) {
    pod_cidr_ =
        std::make_unique<PodCidr>(PodCidr::Deps{.clock = clock_,
                                                .loop = loop_,
                                                .strands = strands_,
                                                .runtime = runtime_,
                                                .log = Log(sink_),
                                                .ending = std::make_shared<CancelToken>(),
                                                .api = with_api ? &api_context_ : nullptr},
                                  PodCidr::Settings{.node_name = "n1", .configured = configured});
    loop_.Post([this] { pod_cidr_->Start(); });
    loop_.RunUntilIdle();
  }
  void PutNode(const Cidrs& cidrs) {
    api_.Put(kNode, NodeOf(cidrs));
    loop_.RunUntilIdle();
  }
  long Logged(const std::string& message) const {
    const auto lines = sink_.lines();
    return std::ranges::count(lines, message, &FakeLogSink::Line::message);
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  fake_api::FakeApiServer api_{clock_, {.loop = &loop_}};
  Random random_{1};
  FakeLogSink sink_;
  const ApiContext api_context_{clock_, loop_, strands_, api_, random_, Log(sink_)};
  cri::FakeNetworkConfig runtime_;
  std::unique_ptr<PodCidr> pod_cidr_;
};

TEST_F(PodCidrTest, WithoutAnApiServerTheConfiguredOneIsToldOnce) {
  Start("10.9.0.0/16", false);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16"));
  loop_.Advance(10min);
  EXPECT_EQ(runtime_.calls, 1);
  EXPECT_EQ(Logged("pod CIDR updated"), 1);
}

TEST_F(PodCidrTest, NoneIsNotTold) {
  Start("", false);
  loop_.Advance(10min);
  EXPECT_EQ(runtime_.calls, 0);
}

TEST_F(PodCidrTest, TheNodesIsToldWhenItComesAndWhenItChanges) {
  Start("", true);
  PutNode({});
  EXPECT_THAT(runtime_.ranges, IsEmpty()) << "no controller has given one";
  PutNode({"10.1.0.0/24"});
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.1.0.0/24"));
  PutNode({"10.1.0.0/24"});
  loop_.Advance(10min);
  EXPECT_EQ(runtime_.calls, 1) << "the same";
  PutNode({"10.1.0.0/24", "fd00::/64"});
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.1.0.0/24", "10.1.0.0/24,fd00::/64"));
  api_.Remove(kNode);
  PutNode({});
  loop_.Advance(10min);
  EXPECT_EQ(runtime_.calls, 2) << "what was told stays";
}

TEST_F(PodCidrTest, TheConfiguredOneIsGoodUntilTheNodeHasOne) {
  Start("10.9.0.0/16", true);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16"));
  PutNode({});
  PutNode({"10.1.0.0/24"});
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16", "10.1.0.0/24"));
}

TEST_F(PodCidrTest, AFailureIsLoggedOnceAndTriedAgainEveryTenSeconds) {
  runtime_.error = Unavailable("no runtime");
  Start("10.9.0.0/16", false);
  EXPECT_EQ(runtime_.calls, 1);
  loop_.Advance(30s);
  EXPECT_EQ(runtime_.calls, 4);
  EXPECT_EQ(Logged("failed to update pod CIDR"), 1);
  runtime_.error =
      MakeStatus(StatusCode::kUnknown, "get routes: invalid CIDR address: {}", "10.9.0.0/16");
  loop_.Advance(10s);
  EXPECT_EQ(Logged("failed to update pod CIDR"), 2) << "another reason";
  runtime_.error = OkStatus();
  loop_.Advance(10s);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16"));
  loop_.Advance(10min);
  EXPECT_EQ(runtime_.calls, 6);
}

TEST_F(PodCidrTest, WhatFailedGivesWayToWhatTheNodeHasNow) {
  runtime_.error = Unavailable("no runtime");
  Start("", true);
  PutNode({"10.1.0.0/24"});
  PutNode({"10.2.0.0/24"});
  runtime_.error = OkStatus();
  loop_.Advance(10s);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.2.0.0/24"));
}

TEST_F(PodCidrTest, ARuntimeThatStartsAgainIsToldAgain) {
  Start("10.9.0.0/16", false);
  runtime_.Restart();
  loop_.Advance(10s);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16"));
  EXPECT_EQ(Logged("pod CIDR updated"), 1) << "nothing has changed";
}

TEST_F(PodCidrTest, WhileTheServerIsAwayTheConfiguredOneIsTold) {
  api_.SetAway(true);
  Start("10.9.0.0/16", true);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16"));
  PutNode({"10.1.0.0/24"});
  api_.SetAway(false);
  loop_.Advance(1min);
  EXPECT_THAT(runtime_.ranges, ElementsAre("10.9.0.0/16", "10.1.0.0/24"));
}

TEST_F(PodCidrTest, NothingComesToOneThatIsGone) {
  Start("10.9.0.0/16", true);
  PutNode({"10.1.0.0/24"});
  runtime_.Restart();
  pod_cidr_.reset();
  PutNode({"10.2.0.0/24"});
  loop_.Advance(1min);
  EXPECT_THAT(runtime_.ranges, IsEmpty());
}

}  // namespace
}  // namespace splitlet::pod_worker
