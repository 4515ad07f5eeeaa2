#include "services/status/node/pleg_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::status {
namespace {

peers::RuntimeState RuntimeNamed(const std::string& name, std::vector<std::string> errors = {}) {
  return {.known = !name.empty(), .pleg_errors = std::move(errors), .name = name};
}

peers::PeerAnswer AnswerWith(std::optional<peers::RuntimeState> runtime) {
  return {.runtime = std::move(runtime)};
}

TEST(PlegAnswer, TheLastReportStaysUntilPlegKnowsTheRuntime) {
  const struct {
    const char* name;
    peers::RuntimeState before;
    StatusOr<peers::PeerAnswer> answer;
    std::string runtime;
    std::vector<std::string> errors;
  } kCases[] = {
      {"the first report",
       RuntimeNamed(""),
       AnswerWith(RuntimeNamed("containerd")),
       "containerd",
       {}},
      {"another runtime",
       RuntimeNamed("containerd"),
       AnswerWith(RuntimeNamed("cri-o")),
       "cri-o",
       {}},
      {"pleg has just started",
       RuntimeNamed("containerd"),
       AnswerWith(RuntimeNamed("", {"not listed"})),
       "containerd",
       {"not listed"}},
      {"neither has pleg known it before",
       RuntimeNamed(""),
       AnswerWith(RuntimeNamed("", {"not listed"})),
       "",
       {"not listed"}},
      {"no answer", RuntimeNamed("containerd", {"old"}), Unavailable("away"), "containerd", {}},
      {"an answer without a runtime",
       RuntimeNamed("containerd", {"old"}),
       AnswerWith(std::nullopt),
       "containerd",
       {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto after = AfterAnswer(c.before, c.answer);
    EXPECT_EQ(after.name, c.runtime);
    EXPECT_EQ(after.known, !c.runtime.empty());
    EXPECT_THAT(after.pleg_errors, testing::ElementsAreArray(c.errors));
  }
}

TEST(PlegAnswer, PlegIsAskedOftenUntilTheRuntimeWasReady) {
  const StatusConfig config;
  const struct {
    const char* name;
    RuntimeProgress progress;
    Duration age;
    std::optional<Duration> want;
  } kCases[] = {
      {"soon after the start", {}, 0s, config.ask_soon},
      {"long after the start", {}, config.hurry, config.ask_again},
      {"the features are known first", {.features_known = true}, 0s, config.ask_soon},
      {"ready, and the features are not known", {.was_ready = true}, 0s, config.ask_again},
      {"all is known", {.was_ready = true, .features_known = true}, 0s, std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(AskPlegAgainAfter(config, c.progress, c.age), c.want);
  }
}

}  // namespace
}  // namespace splitlet::status
