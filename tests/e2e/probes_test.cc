// Probes and hooks on real containerd: the effect of each kind on its pod, and the time limit of a
// probe or hook that hangs.

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

/// Processes of this machine with exactly this command line.
int CountProcesses(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) line += word + '\0';
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    count += harness::ReadFile(entry.path().string() + "/cmdline") == line ? 1 : 0;
  return count;
}

class ProbesAndHooks : public E2eTest {
 protected:
  /// Count of the pod's events with this reason and text; the first column is "47s", or "47s (x4
  /// over 50s)".
  int CountEvents(const std::string& pod, const std::string& reason, const std::string& text) {
    std::istringstream table(
        node_->Ctl({"get", "events", "--for", "pod/" + pod + "-node-1", "--no-headers"}).output);
    int count = 0;
    for (std::string line; std::getline(table, line);) {
      if (line.find(" " + reason + " ") == std::string::npos ||
          line.find(text) == std::string::npos)
        continue;
      const size_t times = line.find(" (x");
      count += times == std::string::npos || times > 8 ? 1 : std::stoi(line.substr(times + 3));
    }
    return count;
  }
  /// `more`: fields of the container, indented as in a manifest.
  std::string Pod(const std::string& script, const std::string& more) const {
    return PodWithScratch("web", script, scratch()) + more;
  }
  void Touch(const std::string& name) const { harness::WriteFile(scratch() + "/" + name, ""); }
  void Remove(const std::string& name) const { std::filesystem::remove(scratch() + "/" + name); }
  std::string Order() const { return harness::ReadFile(scratch() + "/order"); }
};

TEST_F(ProbesAndHooks, LivenessWaitsForStartupAndThenRestarts) {
  StartNode();
  node_->PutManifest(
      "web.yaml",
      Pod("sleep 1000",
          "    startupProbe: {exec: {command: [test, -e, /scratch/started]}, periodSeconds: 1, "
          "failureThreshold: 1000}\n"
          "    livenessProbe: {exec: {command: [test, -e, /scratch/alive]}, periodSeconds: 1, "
          "failureThreshold: 1}\n"));
  EXPECT_TRUE(
      WaitFor(kSoon, [&] { return CountEvents("web", "Unhealthy", "Startup probe failed") >= 3; }));
  EXPECT_EQ(CountEvents("web", "Unhealthy", "Liveness"), 0);
  EXPECT_EQ(RestartsOf("web"), 0);
  EXPECT_FALSE(node_->Pod("web")->ready);
  Touch("alive");
  Touch("started");
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("web")->ready; }));
  EXPECT_EQ(RestartsOf("web"), 0);
  Remove("alive");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") >= 1; }));
  EXPECT_GE(CountEvents("web", "Killing", "Container app failed liveness probe, will be restarted"),
            1);
}

TEST_F(ProbesAndHooks, AStartupThatNeverSucceedsRestartsItsContainer) {
  StartNode();
  node_->PutManifest("web.yaml", Pod("sleep 1000",
                                     "    startupProbe: {tcpSocket: {port: 18082}, periodSeconds: "
                                     "1, failureThreshold: 2}\n"));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") >= 1; }));
  EXPECT_GE(CountEvents("web", "Killing", "Container app failed startup probe, will be restarted"),
            1);
}

/// A gRPC health server on this machine's own network, which the pod shares.
TEST_F(ProbesAndHooks, AHealthServiceMakesAPodReady) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::CallbackGenericService rest;  // a server needs another service besides health
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&rest);
  int port = 0;
  builder.AddListeningPort("0.0.0.0:0", grpc::InsecureServerCredentials(), &port);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  auto* health = server->GetHealthCheckService();
  ASSERT_NE(health, nullptr);
  health->SetServingStatus("shop", false);
  StartNode();
  node_->PutManifest(
      "web.yaml",
      PodYaml("web", "sleep 1000", "  hostNetwork: true\n") +
          fmt::format(
              "    readinessProbe: {{grpc: {{port: {}, service: shop}}, periodSeconds: 1}}\n",
              port));
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return CountEvents("web", "Unhealthy", "service unhealthy (responded with \"NOT_SERVING\")") >=
           1;
  }));
  EXPECT_FALSE(node_->Pod("web")->ready);
  health->SetServingStatus("shop", true);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("web")->ready; }));
  health->SetServingStatus("shop", false);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return !node_->Pod("web")->ready; }));
  EXPECT_EQ(RestartsOf("web"), 0);
  server->Shutdown();
}

TEST_F(ProbesAndHooks, AProbeThatNeverReturnsIsEndedAndHasFailed) {
  StartNode();
  const std::vector<std::string> words = {"sleep", "31415"};
  node_->PutManifest("web.yaml",
                     Pod("sleep 1000",
                         "    livenessProbe: {exec: {command: [sleep, \"31415\"]}, periodSeconds: "
                         "1, timeoutSeconds: 1, failureThreshold: 3}\n"));
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return CountEvents("web", "Unhealthy", "Liveness probe failed: command timed out") >= 3;
  }));
  EXPECT_LE(CountProcesses(words), 1);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") >= 1; }));
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_EQ(CountProcesses(words), 0);
}

TEST_F(ProbesAndHooks, HooksByHttpRunAfterTheStartAndBeforeTheSignal) {
  StartNode();
  std::filesystem::create_directories(scratch() + "/www/cgi-bin");
  for (const char* name : {"started", "stop"}) {
    const std::string path = fmt::format("{}/www/cgi-bin/{}", scratch(), name);
    harness::WriteFile(path,
                       fmt::format("#!/bin/sh\necho {} >> /scratch/order\nprintf 'Content-Type: "
                                   "text/plain\\r\\n\\r\\n'\n",
                                   name));
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  node_->PutManifest(
      "web.yaml",
      Pod("trap 'echo term >> /scratch/order; exit 0' TERM; httpd -p 18083 -h /scratch/www; while "
          "true; do sleep 0.1; done",
          "    ports: [{name: web, containerPort: 18083}]\n"
          "    lifecycle:\n"
          "      postStart: {exec: {command: [sh, -c, until echo | nc 127.0.0.1 18083; do sleep "
          "0.1; done; wget -q -O - http://127.0.0.1:18083/cgi-bin/started]}}\n"
          "      preStop: {httpGet: {path: /cgi-bin/stop, port: web}}\n"));
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Order() == "started\n"; })) << Order();
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_EQ(Order(), "started\nstop\nterm\n");
}

TEST_F(ProbesAndHooks, APreStopThatNeverReturnsDoesNotKeepItsPod) {
  StartNode();
  const std::vector<std::string> words = {"sleep", "27182"};
  node_->PutManifest(
      "web.yaml",
      Pod("trap 'echo term >> /scratch/order; exit 0' TERM; while true; do sleep 0.1; done",
          "    lifecycle: {preStop: {exec: {command: [sleep, \"27182\"]}}}\n"));
  ExpectRunning("web");
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_EQ(Order(), "term\n");
  EXPECT_EQ(CountProcesses(words), 0);
}

TEST_F(ProbesAndHooks, APostStartThatNeverReturnsDoesNotKeepItsPod) {
  StartNode();
  const std::vector<std::string> words = {"sleep", "16180"};
  node_->PutManifest(
      "web.yaml",
      Pod("sleep 1000", "    lifecycle: {postStart: {exec: {command: [sleep, \"16180\"]}}}\n"));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return CountProcesses(words) == 1; }));
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_EQ(CountProcesses(words), 0);
}

TEST_F(ProbesAndHooks, AStartedPreStopIsNotStartedAgain) {
  StartNode();
  node_->PutManifest(
      "web.yaml",
      Pod("trap 'echo term >> /scratch/order; exit 0' TERM; while true; do sleep 0.1; done",
          "    lifecycle: {preStop: {exec: {command: [sh, -c, echo stop >> /scratch/order; sleep "
          "1]}}}\n"));
  ExpectRunning("web");
  node_->RemoveManifest("web.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Order() == "stop\n"; })) << Order();
  node_->KillAndAwait("pod-worker");
  ExpectGone("web");
  EXPECT_EQ(Order(), "stop\nterm\n");
}

TEST_F(ProbesAndHooks, ARestartOfTheProcessesFlipsNoReadiness) {
  StartNode();
  node_->PutManifest("web.yaml",
                     Pod("sleep 1000",
                         "    readinessProbe: {exec: {command: [test, -e, /scratch/up]}, "
                         "periodSeconds: 1}\n"));
  Touch("up");
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("web")->ready; }));
  for (const char* process : {"pod-worker", "status", "pleg", "sync-loop"}) {
    node_->KillAndAwait(process);
    for (int look = 0; look < 20; ++look) {
      const auto pod = node_->Pod("web");
      if (pod != nullptr) {
        EXPECT_TRUE(pod->ready) << process << ", look " << look;
      }
    }
  }
  EXPECT_EQ(RestartsOf("web"), 0);
}

}  // namespace
}  // namespace splitlet::e2e
