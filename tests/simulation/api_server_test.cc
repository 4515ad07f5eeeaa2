// The checks on the API server of a simulated node find forbidden writes of a node.

#include "tests/simulation/api_server.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/base/cancel.h"

namespace splitlet::simulation {
namespace {

class WatchedServer : public ::testing::Test {
 protected:
  void Ask(const std::string& method, const std::string& path, const std::string& body = "") {
    bool answered = false;
    way->Begin({.method = method,
                .path = "/api/v1/namespaces/default/pods/" + path,
                .content_type = method == "PATCH" ? "application/strategic-merge-patch+json"
                                                  : "application/json",
                .body = body},
               {clock.Now() + 10s}, [&answered](const StatusOr<apiclient::Response>& answer) {
                 answered = true;
                 ASSERT_TRUE(answer.ok());
                 EXPECT_EQ(answer->code, 200) << answer->body;
               });
    all.Advance(10s);
    EXPECT_TRUE(answered);
  }
  kube::Pod MakePod() {
    while (server.Pods().empty()) server.ChangePods(false);
    return server.Pods().front();
  }
  void Tell(const std::string& name, const std::string& phase, int restarts) {
    Ask("PATCH", name + "/status",
        fmt::format(R"({{"status":{{"phase":"{}","containerStatuses":[{{"name":"a","image":"b",)"
                    R"("imageID":"c","ready":false,"restartCount":{}}}]}}}})",
                    phase, restarts));
  }
  void Run(const std::string& uid, const std::string& container) {
    runtime.AddUnmanagedPod(
        {.uid = uid, .name = "of-" + container, .containers = {container}, .annotations = {}});
  }
  bool Reported(const std::string& what) const {
    return std::ranges::any_of(reported, [&what](const std::string& line) {
      return line.find(what) != std::string::npos;
    });
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  cri::FakeRuntime runtime{clock};
  std::vector<std::string> reported;
  ApiServer server{{.scheduler = all,
                    .runtime = runtime,
                    .node_name = "sim",
                    .report = [this](std::string what) { reported.push_back(std::move(what)); }}};
  std::unique_ptr<apiclient::Transport> way = server.Connect(all.NewOwner("status"));
};

TEST_F(WatchedServer, AnEndStays) {
  const std::string name = MakePod().metadata().name();
  Tell(name, "Running", 0);
  Tell(name, "Failed", 0);
  EXPECT_TRUE(reported.empty()) << reported.front();
  Tell(name, "Running", 0);
  EXPECT_TRUE(Reported("Running after Failed"));
}

TEST_F(WatchedServer, RestartsAreNotLost) {
  const std::string name = MakePod().metadata().name();
  Tell(name, "Running", 1);
  Tell(name, "Running", 2);
  EXPECT_TRUE(reported.empty()) << reported.front();
  Tell(name, "Running", 1);
  EXPECT_TRUE(Reported("has lost 2 restarts"));
}

TEST_F(WatchedServer, NobodyIsDeletedUnasked) {
  Ask("DELETE", MakePod().metadata().name(), R"({"gracePeriodSeconds":0})");
  EXPECT_TRUE(Reported("nobody has asked it to go"));
}

TEST_F(WatchedServer, NothingOfAPodThatIsGoneRuns) {
  const kube::Pod pod = MakePod();
  Run(pod.metadata().uid(), "a");
  while (server.wanted().contains(pod.metadata().uid())) server.ChangePods(false);
  Ask("DELETE", pod.metadata().name(), R"({"gracePeriodSeconds":0})");
  EXPECT_TRUE(Reported("is deleted at the server while"));
  server.WatchRuntime();
  EXPECT_FALSE(Reported("which was gone from the server"));
  Run(pod.metadata().uid(), "b");
  server.WatchRuntime();
  EXPECT_TRUE(Reported("which was gone from the server"));
}

}  // namespace
}  // namespace splitlet::simulation
