#include "chaos/node/fail_points.h"

#include <gtest/gtest.h>

#include <set>

namespace splitlet::chaos {
namespace {

using Terms = std::map<std::string, std::string>;

/// The process "pleg", which takes terms of fail points.
class PointsTest : public testing::Test {
 protected:
  void Renew() {
    ++pid_;
    terms_.clear();
  }
  Status Set(const Action::Point& point) {
    ++calls_;
    if (!answer_.ok()) return answer_;
    if (point.term == "off")
      terms_.erase(point.name);
    else
      terms_[point.name] = point.term;
    return OkStatus();
  }

  pid_t pid_ = 7;
  bool stopped_ = false;
  int calls_ = 0;
  Status answer_;
  Terms terms_;
  FailPoints points_{
      {.pid_of = [this](const std::string&) { return pid_; },
       .is_stopped = [this](pid_t) { return stopped_; },
       .set = [this](const std::string&, const Action::Point& p) { return Set(p); }}};
};

TEST_F(PointsTest, AreSetAndTakenBack) {
  EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}, {"b", "delay(1s)"}}).ok());
  EXPECT_EQ(terms_, (Terms{{"a", "delay(1s)"}, {"b", "delay(1s)"}}));
  EXPECT_TRUE(points_.Drop("pleg", "slow").ok());
  EXPECT_EQ(terms_, Terms{});
  calls_ = 0;
  points_.Retry();
  EXPECT_EQ(calls_, 0) << "there is nothing left to set";
}

TEST_F(PointsTest, APausedProcessIsNotAskedAndGetsTheTermLater) {
  stopped_ = true;
  EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).ok());
  EXPECT_EQ(calls_, 0);
  stopped_ = false;
  points_.Retry();
  EXPECT_EQ(terms_, (Terms{{"a", "delay(1s)"}}));
}

TEST_F(PointsTest, WhatEndsWhileTheProcessIsPausedIsTakenBackWhenItGoesOn) {
  EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).ok());
  stopped_ = true;
  EXPECT_TRUE(points_.Drop("pleg", "slow").ok());
  EXPECT_EQ(terms_.size(), 1u);
  stopped_ = false;
  points_.Retry();
  EXPECT_EQ(terms_, Terms{});
}

TEST_F(PointsTest, AFaultThatEndedBeforeItCameIntoForceIsCancelled) {
  for (const bool stops : {true, false}) {
    stopped_ = stops;
    answer_ = stops ? OkStatus() : Unavailable("nothing listens");
    EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).ok());
    EXPECT_EQ(points_.Drop("pleg", "slow").code(), StatusCode::kCancelled);
    EXPECT_TRUE(points_.Drop("pleg", "slow").ok()) << "once";
  }
}

TEST_F(PointsTest, ACallWithoutAnAnswerMayHaveArrived) {
  answer_ = DeadlineExceeded("no answer");
  EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).ok());
  terms_["a"] = "delay(1s)";
  EXPECT_FALSE(points_.Drop("pleg", "slow").ok());
  answer_ = OkStatus();
  points_.Retry();
  EXPECT_EQ(terms_, Terms{});
}

TEST_F(PointsTest, ANewProcessHasNoneUntilTheyAreWantedAgain) {
  EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).ok());
  EXPECT_TRUE(points_.Want("pleg", "dies", {{"b", "1*crash"}}).ok());
  Renew();
  calls_ = 0;
  points_.Retry();
  EXPECT_EQ(terms_, Terms{});
  EXPECT_TRUE(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).ok());
  EXPECT_EQ(terms_, (Terms{{"a", "delay(1s)"}}));
  EXPECT_TRUE(points_.Drop("pleg", "dies").ok());
  EXPECT_TRUE(points_.Drop("pleg", "slow").ok());
  EXPECT_EQ(terms_, Terms{});
  EXPECT_EQ(calls_, 2) << "nothing is taken back that it never had";
}

TEST_F(PointsTest, AProcessThatDidNotRunGetsThemWhenItComes) {
  pid_ = 0;
  EXPECT_TRUE(points_.Want("pleg", "dies", {{"b", "1*crash"}}).ok());
  EXPECT_EQ(calls_, 0);
  pid_ = 8;
  points_.Retry();
  EXPECT_EQ(terms_, (Terms{{"b", "1*crash"}}));
  Renew();
  EXPECT_TRUE(points_.Drop("pleg", "dies").ok());
  EXPECT_EQ(terms_, Terms{}) << "it has done what it was to do";
}

TEST_F(PointsTest, OfTwoFaultsAtOnePointTheLastOneCountsAndTheOtherGoesOn) {
  EXPECT_TRUE(points_.Want("pleg", "lose", {{"a", "30%drop"}}).ok());
  EXPECT_TRUE(points_.Want("pleg", "late", {{"a", "delay(1s)"}}).ok());
  EXPECT_EQ(terms_, (Terms{{"a", "delay(1s)"}}));
  EXPECT_TRUE(points_.Drop("pleg", "late").ok());
  EXPECT_EQ(terms_, (Terms{{"a", "30%drop"}}));
  EXPECT_TRUE(points_.Drop("pleg", "lose").ok());
  EXPECT_EQ(terms_, Terms{});
}

TEST_F(PointsTest, ATermThatIsWantedAgainCountsFromItsBeginning) {
  EXPECT_TRUE(points_.Want("pleg", "some", {{"a", "2*drop"}}).ok());
  EXPECT_TRUE(points_.Want("pleg", "some", {{"a", "2*drop"}}).ok());
  EXPECT_EQ(calls_, 2);
}

TEST_F(PointsTest, ARefusalIsReported) {
  answer_ = FailedPrecondition("fail points are locked");
  EXPECT_EQ(points_.Want("pleg", "slow", {{"a", "delay(1s)"}}).code(),
            StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace splitlet::chaos
