#include "services/pod-worker/api_objects/tokens.h"

#include <gtest/gtest.h>

#include "libs/exec/fake_exec.h"
#include "services/pod-worker/api_objects/api_fixture.h"

namespace splitlet::pod_worker {
namespace {

class Tokens : public testing::Test {
 protected:
  void SetUp() override {
    PutAccount(api_, "app");
    for (const char* name : {"web", "other"})
      api_.PutJson(PathOf("pods", name),
                   fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}",)"
                               R"("namespace":"default","uid":"uid-{0}"}},"spec":{{}}}})",
                               name));
    tokens_.Hold(kOwner, {kWish});
  }
  /// As before a sync.
  bool Refresh(const std::string& uid = "uid-web") {
    const bool all = tokens_.Refresh(uid);
    loop_.RunUntilIdle();
    return all;
  }
  /// The token, or the error.
  std::string Value() {
    const auto all = tokens_.Of("uid-web");
    const auto& token = all.at(kWish);
    return token.ok() ? *token : "error: " + Message(token.status());
  }
  int TakeRequests() { return TakeCount(api_, "POST", PathOf("serviceaccounts", "app/token")); }

  inline static const TokenWish kWish{"", 600};
  inline static const TokenOwner kOwner{"uid-web", "web", "default", "app"};
  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  fake_api::FakeApiServer api_{clock_};
  Random random_{1};
  FakeLogSink sink_;
  const ApiContext context_{clock_, loop_, strands_, api_, random_, Log(sink_)};
  ApiCalls calls_{context_};
  int told_ = 0, changed_ = 0;
  PodTokens tokens_{{context_, calls_, [this](const std::string& uid, bool changed) {
                       EXPECT_EQ(uid, "uid-web");
                       ++told_;
                       changed_ += changed ? 1 : 0;
                     }}};
};

TEST_F(Tokens, AreAskedForWithTheirPodAndKept) {
  EXPECT_EQ(Value(), "error: failed to fetch token: the API server has not answered yet");
  EXPECT_FALSE(Refresh()) << "it is waited for";
  EXPECT_EQ(changed_, 1);
  const std::string first = Value();
  EXPECT_FALSE(first.starts_with("error")) << first;
  EXPECT_TRUE(Refresh());
  EXPECT_EQ(Value(), first);
  EXPECT_EQ(TakeRequests(), 1);
}

TEST_F(Tokens, AreRenewedAtFourFifthsOfTheirLife) {
  Refresh();
  const std::string first = Value();
  loop_.Advance(469s);
  Refresh();
  EXPECT_EQ(Value(), first) << "too early, whatever the jitter";
  loop_.Advance(12s);
  EXPECT_TRUE(Refresh()) << "no wait: the old token is valid";
  EXPECT_NE(Value(), first);
  EXPECT_EQ(changed_, 2);
}

TEST_F(Tokens, OneOfALongLifeIsRenewedOnceADay) {
  const TokenWish wish{"vault", 7 * 24 * 3600};
  tokens_.Hold(kOwner, {wish});
  Refresh();
  TakeRequests();
  loop_.Advance(24h - 11s);
  Refresh();
  EXPECT_EQ(TakeRequests(), 0);
  loop_.Advance(12s);
  Refresh();
  EXPECT_EQ(TakeRequests(), 1);
}

TEST_F(Tokens, WithoutAnswerTheOneBeforeIsGoodUntilItExpires) {
  Refresh();
  const std::string first = Value();
  api_.SetAway(true);
  loop_.Advance(590s);
  EXPECT_TRUE(Refresh());
  EXPECT_EQ(Value(), first);
  loop_.Advance(11s);
  EXPECT_TRUE(Refresh());
  EXPECT_TRUE(
      Value().starts_with("error: token \"app\"/\"default\"/600/[] expired and refresh failed: "))
      << Value();
  EXPECT_EQ(tokens_.Of("uid-web").at(kWish).status().code(), StatusCode::kUnavailable);
  api_.SetAway(false);
  loop_.Advance(1min);
  Refresh();
  EXPECT_FALSE(Value().starts_with("error")) << Value();
}

TEST_F(Tokens, WhatIsRefusedIsNotAskedForInALoop) {
  api_.Remove(PathOf("serviceaccounts", "app"));
  Refresh();
  EXPECT_TRUE(Value().starts_with("error: failed to fetch token: ")) << Value();
  EXPECT_EQ(told_, 1);
  EXPECT_TRUE(Refresh()) << "it is known why there is none";
  EXPECT_EQ(TakeRequests(), 1);
  loop_.Advance(1s);
  Refresh();
  EXPECT_EQ(TakeRequests(), 1);
  PutAccount(api_, "app");
  loop_.Advance(2s);
  Refresh();
  EXPECT_FALSE(Value().starts_with("error")) << Value();
}

/// A real server's admission learns of a pod after its watchers do.
TEST_F(Tokens, ARefusalThatIsEarlyIsNotTold) {
  api_.Inject({.prefix = PathOf("serviceaccounts", "app/token"), .times = 2, .code = 403});
  EXPECT_FALSE(Refresh());
  EXPECT_EQ(told_, 0);
  EXPECT_FALSE(Refresh()) << "it is waited for";
  EXPECT_EQ(TakeRequests(), 1);
  loop_.Advance(400ms);
  EXPECT_EQ(changed_, 1);
  EXPECT_TRUE(Refresh());
  EXPECT_FALSE(Value().starts_with("error")) << Value();
  EXPECT_EQ(TakeRequests(), 2);
}

TEST_F(Tokens, ARefusalThatStaysIsToldAfterASecond) {
  api_.Inject({.prefix = PathOf("serviceaccounts", "app/token"), .code = 403});
  Refresh();
  loop_.Advance(900ms);
  EXPECT_EQ(told_, 0);
  loop_.Advance(100ms);
  EXPECT_EQ(told_, 1);
  EXPECT_TRUE(Refresh());
  EXPECT_EQ(TakeRequests(), 6);
  EXPECT_TRUE(Value().starts_with("error: failed to fetch token: ")) << Value();
}

TEST_F(Tokens, GoWithTheirPod) {
  Refresh();
  const std::string first = Value();
  tokens_.Release("uid-web");
  EXPECT_TRUE(tokens_.Of("uid-web").empty());
  tokens_.Hold(kOwner, {kWish});
  Refresh();
  EXPECT_NE(Value(), first);
}

TEST_F(Tokens, AnAnswerForAPodThatIsGoneIsDropped) {
  tokens_.Refresh("uid-web");
  tokens_.Release("uid-web");
  tokens_.Hold(kOwner, {kWish});
  loop_.RunUntilIdle();
  EXPECT_EQ(told_, 0);
  EXPECT_TRUE(Value().starts_with("error")) << "of the request before nothing counts";
}

}  // namespace
}  // namespace splitlet::pod_worker
