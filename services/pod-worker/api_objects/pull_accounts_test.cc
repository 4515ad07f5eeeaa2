#include "services/pod-worker/api_objects/pull_accounts.h"

#include <gtest/gtest.h>

#include "libs/exec/fake_exec.h"
#include "services/pod-worker/api_objects/api_fixture.h"

namespace splitlet::pod_worker {
namespace {

class PullAccountsTest : public testing::Test {
 protected:
  void SetUp() override {
    api_.PutJson(PathOf("serviceaccounts", "app"),
                 R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"app",)"
                 R"("namespace":"default","uid":"uid-app","annotations":{"team":"north"}}})");
    api_.PutJson(PathOf("pods", "web"),
                 R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",)"
                 R"("namespace":"default","uid":"uid-web"},"spec":{}})");
    accounts_.Hold("uid-web");
  }
  /// "<uid> team=<annotation>", or the error.
  std::string Account(const TokenOwner& pod) {
    std::string out = "no answer";
    accounts_.GetAccount(pod, [&out](const StatusOr<PodAccount>& account) {
      out = account.ok() ? account->uid + " team=" + account->annotations.at("team")
                         : std::string(Message(account.status()));
    });
    loop_.RunUntilIdle();
    return out;
  }
  /// Answers come to `tokens_`.
  void AskToken(const std::string& audience, const std::string& account = "uid-app") {
    accounts_.GetToken(kWeb, account, audience, [this](const StatusOr<std::string>& token) {
      tokens_.push_back(token.ok() ? *token : "error: " + Message(token.status()));
    });
  }
  int TakeRequests() { return TakeCount(api_, "POST", PathOf("serviceaccounts", "app/token")); }

  inline static const TokenOwner kWeb{"uid-web", "web", "default", "app"};
  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  fake_api::FakeApiServer api_{clock_};
  Random random_{1};
  FakeLogSink sink_;
  const ApiContext context_{clock_, loop_, strands_, api_, random_, Log(sink_)};
  ApiCalls calls_{context_};
  PullAccounts accounts_{context_, calls_};
  std::vector<std::string> tokens_;
};

TEST_F(PullAccountsTest, AnAccountIsReadEachTime) {
  EXPECT_EQ(Account(kWeb), "uid-app team=north");
  api_.PutJson(PathOf("serviceaccounts", "app"),
               R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"app",)"
               R"("namespace":"default","uid":"uid-app","annotations":{"team":"south"}}})");
  EXPECT_EQ(Account(kWeb), "uid-app team=south");
  TokenOwner none = kWeb;
  none.service_account = "none";
  EXPECT_NE(Account(none).find("not found"), std::string::npos) << Account(none);
}

TEST_F(PullAccountsTest, ATokenIsAskedForOnceForAllWhoWaitAndKeptUntilItIsOld) {
  AskToken("reg.io");
  AskToken("reg.io");
  AskToken("other.io");
  loop_.RunUntilIdle();
  ASSERT_EQ(tokens_.size(), 3u);
  EXPECT_FALSE(tokens_[0].starts_with("error")) << tokens_[0];
  EXPECT_EQ(TakeRequests(), 2);
  std::set<std::string> different(tokens_.begin(), tokens_.end());
  EXPECT_EQ(different.size(), 2u) << "one for each audience";
  AskToken("reg.io");
  ASSERT_EQ(tokens_.size(), 4u) << "immediately";
  EXPECT_TRUE(different.contains(tokens_[3]));
  loop_.Advance(3h);
  EXPECT_EQ(TakeRequests(), 0) << "a token that no pull uses is not renewed";
  AskToken("reg.io");
  loop_.RunUntilIdle();
  ASSERT_EQ(tokens_.size(), 5u);
  EXPECT_FALSE(different.contains(tokens_[4]));
  EXPECT_FALSE(tokens_[4].starts_with("error")) << tokens_[4];
}

TEST_F(PullAccountsTest, AnAccountThatWasMadeAnewHasOtherTokens) {
  AskToken("reg.io");
  loop_.RunUntilIdle();
  AskToken("reg.io", "uid-later");
  loop_.RunUntilIdle();
  api_.PutJson(PathOf("serviceaccounts", "app"),
               R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"app",)"
               R"("namespace":"default","uid":"uid-last"}})");
  AskToken("reg.io", "uid-last");
  loop_.RunUntilIdle();
  ASSERT_EQ(tokens_.size(), 3u);
  EXPECT_FALSE(tokens_[0].starts_with("error")) << tokens_[0];
  EXPECT_NE(tokens_[1].find("has UID uid-app, not uid-later"), std::string::npos) << tokens_[1];
  EXPECT_FALSE(tokens_[2].starts_with("error")) << tokens_[2];
  EXPECT_NE(tokens_[0], tokens_[2]);
}

TEST_F(PullAccountsTest, ARefusalIsToldAndAskedAgainLater) {
  api_.SetAway(true);
  AskToken("reg.io");
  loop_.RunUntilIdle();
  ASSERT_EQ(tokens_.size(), 1u);
  EXPECT_TRUE(tokens_[0].starts_with("error: failed to fetch token: ")) << tokens_[0];
  api_.SetAway(false);
  loop_.Advance(2s);
  AskToken("reg.io");
  loop_.RunUntilIdle();
  ASSERT_EQ(tokens_.size(), 2u);
  EXPECT_FALSE(tokens_[1].starts_with("error")) << tokens_[1];
}

TEST_F(PullAccountsTest, WhoWaitsForAPodThatEndsIsTold) {
  AskToken("reg.io");
  accounts_.Release("uid-web");
  EXPECT_EQ(tokens_, std::vector<std::string>{"error: the pod has ended"});
  loop_.RunUntilIdle();
  EXPECT_EQ(tokens_.size(), 1u);
  AskToken("reg.io");
  EXPECT_EQ(tokens_.back(), "error: pod default/web has no service account here");
  EXPECT_EQ(Account(kWeb), "pod default/web has no service account here");
}

}  // namespace
}  // namespace splitlet::pod_worker
