#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "libs/base/fail_point.h"
#include "services/node-api/node_api_fixture.h"

/// Killed at each of its fail points, node-api leaves requests without an answer, and nothing else:
/// the next start answers each of them as one that was never killed.

namespace splitlet::node_api {
namespace {

/// node-api from a start to its end.
class Process : public NodeApiTest {
 public:
  void TestBody() override {}
  void Boot() {
    AllowAll();
    log_files->Make("/logs/app.log", "2026-01-02T03:04:05Z stdout F line\n");
    Start();
    PutPod();
  }
  /// As left by an earlier start: pod-worker, and the log levels of all processes.
  void Follow(const Process& earlier) {
    pod_calls = earlier.pod_calls;
    levels = earlier.levels;
  }
  /// The answer to one request of each kind; empty: none.
  std::vector<std::string> Serve() {
    const https::Headers upgrade = {
        {"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "v4"}};
    std::vector<std::string> answers;
    for (const Ask& ask :
         {Ask{.target = "/containerLogs/default/web/app"}, Ask{.target = "/stats/summary"},
          Ask{.method = "PUT", .target = "/debug/flags/v", .body = "4"},
          Ask{.method = "POST", .target = "/run/default/web/app?cmd=ls"},
          Ask{.method = "POST",
          .target = "/exec/default/web/app?command=ls&output=1",
          .headers = upgrade},
          Ask{.method = "POST", .target = "/checkpoint/default/web/app"}}) {
      const auto answered = Send(ask);
      all.Advance(1s);
      answers.push_back(TextOf(*answered));
    }
    return answers;
  }
  std::string Levels() const {
    std::string text;
    for (const auto& [process, level] : levels->levels)
      text += fmt::format("{}={} ", process, static_cast<int>(level));
    return text;
  }

 private:
  static std::string TextOf(const Answered& answered) {
    if (answered.backend) return "passed on";
    if (!answered.answer) return "";
    if (answered.streams) return answered.ended ? answered.streamed : "";
    return fmt::format("{} {}", answered.answer->code, answered.answer->body);
  }
};

/// The points that these requests pass. A scrape needs a server of gRPC, and a port a socket.
std::vector<std::string> PointsHere() {
  const std::set<std::string> elsewhere = {"node-api.listen.before", "node-api.scrape.before"};
  std::vector<std::string> names;
  for (const auto& info : FailPoints().List())
    if (info.name.starts_with("node-api.") && !elsewhere.contains(info.name))
      names.push_back(info.name);
  return names;
}

TEST(NodeApiCrash, AtEveryFailPointLeavesOnlyRequestsWithoutAnAnswer) {
  Process never;
  never.Boot();
  const std::vector<std::string> want = never.Serve();
  for (const auto& answer : want) ASSERT_FALSE(answer.empty());
  const auto points = PointsHere();
  EXPECT_GE(points.size(), 10u);
  for (const auto& point : points) {
    SCOPED_TRACE(point);
    Process dies;
    bool died = false;
    FailPoints armed{FailPoints::Actions{.crash =
                                             [&died] {
                                               died = true;
                                               throw exec::Scheduler::CrashedHere{};
                                             },
                                         .delay = [](int64_t) {}}};
    dies.Boot();
    ASSERT_TRUE(armed.Set(point, "1*crash->off").ok());
    FailPoints::SetCurrent(&armed);
    const auto cut = dies.Serve();
    FailPoints::SetCurrent(nullptr);
    EXPECT_TRUE(died) << "no request passes it";
    EXPECT_NE(std::ranges::find(cut, ""), cut.end()) << "a request of a dead process was answered";
    for (size_t i = 0; i < cut.size(); ++i)
      EXPECT_TRUE(cut[i].empty() || cut[i] == want[i]) << cut[i];
    Process next;
    next.Follow(dies);
    next.Boot();
    EXPECT_EQ(next.Serve(), want);
    EXPECT_EQ(next.Levels(), never.Levels());
  }
}

}  // namespace
}  // namespace splitlet::node_api
