#include "libs/apiclient/limited_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "libs/apiclient/scripted_transport.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::apiclient {
namespace {

using testing::ElementsAre;

/// A burst of two calls, then ten calls a second.
class LimitedTransportTest : public testing::Test {
 protected:
  LimitedTransportTest() {
    auto below = std::make_unique<ScriptedTransport>();
    below_ = below.get();
    limited_ = std::make_unique<LimitedTransport>(std::move(below), loop_,
                                                  std::make_unique<RateLimiter>(clock_, 10, 2));
  }
  void Ask(const std::string& path, Deadline deadline) {
    limited_->Begin({.path = path}, std::move(deadline), [this](StatusOr<Response> answer) {
      ended_.push_back(answer.ok() ? StatusCode::kOk : answer.status().code());
    });
  }
  std::vector<std::string> Sent() const {
    std::vector<std::string> paths;
    for (const auto& asked : below_->asked) paths.push_back(asked.request.path);
    return paths;
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  ScriptedTransport* below_ = nullptr;
  std::unique_ptr<LimitedTransport> limited_;
  std::vector<StatusCode> ended_;
};

TEST_F(LimitedTransportTest, ABurstGoesAtOnceAndTheRestInItsTurn) {
  for (const char* path : {"/a", "/b", "/c"}) Ask(path, After(clock_, 1s));
  limited_->BeginStream(
      {.path = "/d"}, After(clock_, 1s), [](std::string_view) {}, [](const StatusOr<Response>&) {});
  EXPECT_THAT(Sent(), ElementsAre("/a", "/b"));
  loop_.Advance(99ms);
  EXPECT_THAT(Sent(), ElementsAre("/a", "/b"));
  loop_.Advance(2ms);
  EXPECT_THAT(Sent(), ElementsAre("/a", "/b", "/c"));
  loop_.Advance(100ms);
  EXPECT_THAT(Sent(), ElementsAre("/a", "/b", "/c", "/d"));
  EXPECT_EQ(limited_->host(), below_->host());
}

TEST_F(LimitedTransportTest, WhatIsTooLateOrGivenUpIsNeverSent) {
  const auto token = std::make_shared<CancelToken>();
  for (const char* path : {"/a", "/b"}) Ask(path, After(clock_, 1s));
  Ask("/late", After(clock_, 50ms));
  EXPECT_THAT(ended_, ElementsAre(StatusCode::kDeadlineExceeded));
  Ask("/given-up", {clock_.Now() + 1s, token});
  token->Cancel();
  loop_.Advance(1s);
  EXPECT_THAT(ended_, ElementsAre(StatusCode::kDeadlineExceeded, StatusCode::kCancelled));
  EXPECT_THAT(Sent(), ElementsAre("/a", "/b"));
}

TEST_F(LimitedTransportTest, WhatStillWaitsAtTheEndHearsSo) {
  for (const char* path : {"/a", "/b", "/c"}) Ask(path, After(clock_, 1s));
  limited_.reset();
  loop_.Advance(1s);
  EXPECT_THAT(ended_, ElementsAre(StatusCode::kCancelled));
}

}  // namespace
}  // namespace splitlet::apiclient
