// Tests the program as integration tests use it: a process with HTTPS, controlled by lines; with
// kubectl if it is installed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/fake_api/api_server_process.h"
#include "tests/harness/child.h"

namespace splitlet::fake_api {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPod =
    R"({"spec":{"nodeName":"n1","containers":[{"name":"c","image":"busybox:1"}]}})";
constexpr const char* kPath = "/api/v1/namespaces/default/pods/web";

class FakeApiProgram : public ::testing::Test {
 protected:
  void SetUp() override { server_.Start(); }
  /// Runs kubectl and returns its output; skips if kubectl is not installed.
  int Kubectl(std::vector<std::string> arguments, std::string& output) {
    std::vector<std::string> argv = {"kubectl", "--kubeconfig", server_.Kubeconfig(), "--cache-dir",
                                     dir_ / "cache"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const std::string file = dir_ / fmt::format("kubectl-{}", ++calls_);
    const int code =
        harness::RunToEnd({.argv = argv, .env = {}, .output = file}, std::chrono::seconds{60});
    output = harness::ReadFile(file);
    return code;
  }
  static bool HasKubectl() {
    return std::filesystem::exists("/usr/bin/kubectl") ||
           std::filesystem::exists("/usr/local/bin/kubectl");
  }

  harness::TempDir dir_{"fake-api"};
  ApiServerProcess server_{{.program = FAKE_API, .dir = dir_ / "api", .node = "n1", .flags = {}}};
  int calls_ = 0;
};

TEST_F(FakeApiProgram, ObjectsOverTheControlSocket) {
  ASSERT_TRUE(server_.Put(kPath, kPod).ok());
  const auto pod = server_.Get(kPath);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_THAT(*pod, HasSubstr(R"("phase":"Pending")"));
  ASSERT_TRUE(server_.Delete(kPath).ok());
  EXPECT_THAT(*server_.Get(kPath), HasSubstr("deletionTimestamp"));
  EXPECT_EQ(server_.Get("/api/v1/nodes/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(server_.Send("dance").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(FakeApiProgram, WhatIsRepeatedMayDifferEachTime) {
  const std::string path = "/api/v1/namespaces/default/configmaps/times";
  const std::string put =
      " put " + path +
      R"( {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"times"},"data":{"A":"%i","B":"%i"}})";
  ASSERT_TRUE(server_.Send("repeat 3" + put).ok());
  EXPECT_THAT(*server_.Get(path), HasSubstr(R"("A":"2","B":"2")"));
}

TEST_F(FakeApiProgram, KubectlFindsItsWay) {
  if (!HasKubectl()) GTEST_SKIP() << "kubectl is not installed";
  ASSERT_TRUE(server_.Put(kPath, kPod).ok());
  std::string output;
  EXPECT_EQ(Kubectl({"get", "pods", "-o", "name"}, output), 0) << output;
  EXPECT_THAT(output, HasSubstr("pod/web"));
  harness::WriteFile(dir_ / "map.yaml",
                     "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  k: v\n");
  EXPECT_EQ(Kubectl({"apply", "-f", dir_ / "map.yaml"}, output), 0) << output;
  EXPECT_EQ(Kubectl({"get", "configmap", "m", "-o", "jsonpath={.data.k}"}, output), 0) << output;
  EXPECT_THAT(output, HasSubstr("v"));
  EXPECT_EQ(Kubectl({"label", "pod", "web", "a=b"}, output), 0) << output;
  EXPECT_EQ(Kubectl({"delete", "pod", "web", "--now", "--wait=false"}, output), 0) << output;
  EXPECT_THAT(*server_.Get(kPath), HasSubstr(R"("deletionGracePeriodSeconds":1)"));
}

TEST_F(FakeApiProgram, AwayAndBackOnTheSamePort) {
  const std::string url = server_.url();
  ASSERT_TRUE(server_.Put(kPath, kPod).ok());
  ASSERT_TRUE(server_.SetAway(true).ok());
  std::string output;
  const auto ask = [&] {
    return HasKubectl() ? Kubectl({"get", "--raw", "/version"}, output) : -1;
  };
  EXPECT_NE(ask(), 0) << output;
  ASSERT_TRUE(server_.SetAway(false).ok());
  EXPECT_EQ(ask(), HasKubectl() ? 0 : -1) << output;
  EXPECT_TRUE(server_.Get(kPath).ok());
  server_.Kill(SIGKILL);
  server_.Start();
  EXPECT_EQ(server_.url(), url);
  EXPECT_FALSE(server_.Get(kPath).ok()) << "objects are in memory only";
}

TEST_F(FakeApiProgram, WhatIsToldToFailDoesNotHitItsOperator) {
  ASSERT_TRUE(server_.Send("fault * / code 500").ok());
  ASSERT_TRUE(server_.SetAway(true).ok());
  EXPECT_TRUE(server_
                  .Send(fmt::format("post /api/v1/namespaces/default/pods "
                                    R"({{"metadata":{{"name":"web"}},{})",
                                    kPod + 1))
                  .ok());
  EXPECT_TRUE(server_.Get(kPath).ok());
  EXPECT_EQ(*server_.Send("seen"), "[]");
}

TEST_F(FakeApiProgram, KeepsItsObjectsOverAKillWhenItIsToldTo) {
  ApiServerProcess keeps({.program = FAKE_API,
                          .dir = dir_ / "keeps",
                          .node = "n1",
                          .flags = {"--keep", dir_ / "objects"}});
  const std::string gone = "/api/v1/namespaces/default/pods/gone";
  keeps.Start();
  ASSERT_TRUE(keeps.Put(kPath, kPod).ok());
  ASSERT_TRUE(keeps.Put(gone, kPod).ok());
  ASSERT_TRUE(keeps.Send("delete " + gone + R"( {"gracePeriodSeconds":0})").ok());
  const auto before = keeps.Get(kPath);
  const auto account = keeps.Get("/api/v1/namespaces/default/serviceaccounts/default");
  ASSERT_TRUE(before.ok() && account.ok());
  for (int i = 0; i < 2; ++i) {
    keeps.Kill(SIGKILL);
    keeps.Start();
    EXPECT_EQ(*keeps.Get(kPath), *before) << "with its UID and resourceVersion";
    EXPECT_EQ(*keeps.Get("/api/v1/namespaces/default/serviceaccounts/default"), *account);
    EXPECT_EQ(keeps.Get(gone).status().code(), StatusCode::kNotFound);
  }
  ASSERT_TRUE(keeps.Delete(kPath).ok());
  keeps.Kill(SIGKILL);
  keeps.Start();
  EXPECT_THAT(*keeps.Get(kPath), HasSubstr("deletionTimestamp"));
}

}  // namespace
}  // namespace splitlet::fake_api
