#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::Each;
using testing::Pair;

class LevelsOfLogs : public NodeApiTest {
 protected:
  LevelsOfLogs() { AllowAll(); }
  std::string Put(const std::string& body, const std::string& method = "PUT") {
    return Text({.method = method, .target = "/debug/flags/v", .body = body});
  }
};

TEST_F(LevelsOfLogs, EveryProcessTakesThem) {
  Start();
  EXPECT_EQ(Put("5"), "200 successfully set klog.logging.verbosity to 5");
  EXPECT_EQ(levels->levels.size(), 3u) << "node-api too";
  EXPECT_THAT(levels->levels, Each(Pair(testing::_, LogLevel::kDebug)));
  EXPECT_EQ(Put("3"), "200 successfully set klog.logging.verbosity to 3");
  EXPECT_THAT(levels->levels, Each(Pair(testing::_, LogLevel::kInfo)));
}

TEST_F(LevelsOfLogs, WhatIsNoVerbosity) {
  Start();
  const struct {
    const char *method, *body;
    int code;
  } kCases[] = {
      {"GET", "", 406},    {"POST", "5", 406},  {"PUT", "", 400},    {"PUT", "x", 400},
      {"PUT", "5 ", 400},  {"PUT", "1.5", 400}, {"PUT", "-1", 200},  {"PUT", "+4", 200},
      {"PUT", "+-4", 400}, {"PUT", "0x4", 400}, {"PUT", "4\n", 400}, {"PUT", "2147483648", 400},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(Code({.method = c.method, .target = "/debug/flags/v", .body = c.body}), c.code)
        << c.method << " '" << c.body << "'";
  EXPECT_EQ(Put("", "GET"), "406 unsupported http method");
}

TEST_F(LevelsOfLogs, WhoHasNotTakenThemIsNamed) {
  Start();
  levels->away = {"pleg"};
  EXPECT_EQ(Put("5"), "500 klog.logging.verbosity is 5 in all processes but pleg (it is away)");
  EXPECT_EQ(levels->levels["gc"], LogLevel::kDebug);
}

TEST_F(LevelsOfLogs, RightsAreThoseOfTheProxy) {
  config.server.authorization = "Webhook";
  Start();
  EXPECT_EQ(Code({.method = "PUT", .target = "/debug/flags/v", .token = "", .body = "5"}), 401);
  EXPECT_EQ(Code({.method = "PUT", .target = "/debug/flags/v", .body = "5"}), 403);
  EXPECT_TRUE(levels->levels.empty());
  reviewer->rights = {"bob update proxy"};
  EXPECT_EQ(Code({.method = "PUT", .target = "/debug/flags/v", .body = "5"}), 403)
      << "an answer is kept for a while";
  all.Advance(31s);
  EXPECT_EQ(Code({.method = "PUT", .target = "/debug/flags/v", .body = "5"}), 200);
}

}  // namespace
}  // namespace splitlet::node_api
