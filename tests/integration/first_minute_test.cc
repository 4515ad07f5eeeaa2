// A successful start logs no warning and no error on any kind of node, because an operator should
// not have to understand lines about normal conditions.

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/base/processes.h"
#include "libs/kube/codec.h"
#include "tests/fake_api/api_server_process.h"
#include "tests/harness/free_port.h"
#include "tests/integration/serving_fixture.h"

namespace splitlet::integration {
namespace {

namespace core = k8s::io::api::core::v1;
using fake_api::ApiServerProcess;

/// As kubeadm writes it, with every field that it sets, without changes of the machine.
constexpr const char* kKubeadmConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {{enabled: false}}
  webhook: {{cacheTTL: 0s, enabled: true}}
  x509: {{clientCAFile: {}}}
authorization:
  mode: Webhook
  webhook: {{cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s}}
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {{}}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 0
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
logging:
  flushFrequency: 0
  options:
    json: {{infoBufferSize: "0"}}
    text: {{infoBufferSize: "0"}}
  verbosity: 0
memorySwap: {{}}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
address: 127.0.0.1
port: {}
failSwapOn: false
evictionHard: {{}}
splitlet: {{machineSetup: false}}
)";

/// The lines of these levels in all logs, with their process.
std::string LinesOf(const harness::Node& node, std::string_view levels) {
  std::string found;
  std::vector<std::string> processes = ProcessNames();
  processes.emplace_back("node-api");
  for (const auto& process : processes) {
    std::istringstream log(harness::ReadFile(node.LogOf(process)));
    for (std::string line; std::getline(log, line);)
      if (line.size() > 1 && levels.find(line[0]) != std::string_view::npos && line[1] >= '0' &&
          line[1] <= '9')
        found += fmt::format("{}: {}\n", process, line);
  }
  return found;
}

class FirstMinute : public ServingTest {
 protected:
  FirstMinute() { has_image_fs_ = true; }
  void TearDown() override {
    EndNode();
    api_.reset();
  }
  void StartApi() {
    api_ = std::make_unique<ApiServerProcess>(
        ApiServerProcess::Options{.program = harness::BinDir() + "/fake-api",
                                  .dir = api_dir_.path(),
                                  .node = "node-1",
                                  .flags = {}});
    api_->Start();
  }
  void StartKubeadmNode(std::vector<std::string> flags) {
    port_ = harness::FreePort();
    const std::vector<std::string> all = {"--cert-dir", api_dir_ / "pki"};
    flags.insert(flags.end(), all.begin(), all.end());
    StartNode({.config = fmt::format(kKubeadmConfig, api_dir_ / "ca.crt", port_),
               .flags = std::move(flags)});
    node_->StartProcess("node-api");
  }
  template <class T>
  bool ServerHas(const std::string& path, const std::function<bool(const T&)>& as) {
    const auto json = api_->Get(path);
    T object;
    return json.ok() && kube::DecodeInto(*json, path, kube::Strictness::kLenient, object).ok() &&
           as(object);
  }
  /// Registered and ready, with an API pod and a static pod that has its mirror pod.
  void ExpectWorkingNode() {
    ASSERT_TRUE(WaitFor(kSoon, [&] {
      return ServerHas<core::Node>("/api/v1/nodes/node-1", [](const core::Node& node) {
        return std::ranges::any_of(node.status().conditions(), [](const auto& condition) {
          return condition.type() == "Ready" && condition.status() == "True";
        });
      });
    })) << "the node is not ready";
    const std::string pods = "/api/v1/namespaces/default/pods/";
    ASSERT_TRUE(api_->Put(pods + "web",
                          R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",)"
                          R"("namespace":"default"},"spec":{"nodeName":"node-1",)"
                          R"("containers":[{"name":"app","image":"busybox"}]}})")
                    .ok());
    node_->PutManifest("fixed.yaml", PodYaml("fixed", "sleep 1000"));
    for (const char* pod : {"web", "fixed-node-1"})
      ASSERT_TRUE(WaitFor(kSoon, [&] {
        return ServerHas<core::Pod>(
            pods + pod, [](const core::Pod& it) { return it.status().phase() == "Running"; });
      })) << pod;
    ASSERT_TRUE(WaitFor(kSoon, [this] { return Serves(); })) << "the node's API does not serve";
  }
  /// Accepts any certificate.
  bool Serves() const {
    https::TestClient client(port_);
    return client.connected && client.Handshake({});
  }

  const harness::TempDir api_dir_{"api"};
  std::unique_ptr<ApiServerProcess> api_;
};

TEST_F(FirstMinute, OfANodeWithoutAnApiServer) {
  StartServingNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  ASSERT_TRUE(WaitFor(kSoon, [this] { return Ask("GET", "/healthz").starts_with("200 "); }));
  EXPECT_EQ(LinesOf(*node_, "WE"), "");
}

TEST_F(FirstMinute, OfANodeThatHasItsKubeconfig) {
  StartApi();
  StartKubeadmNode({"--kubeconfig", api_->Kubeconfig("node")});
  ExpectWorkingNode();
  EXPECT_EQ(LinesOf(*node_, "WE"), "");
}

TEST_F(FirstMinute, OfANodeThatIsLetInByTlsBootstrap) {
  StartApi();
  ASSERT_TRUE(
      api_->Send("fault POST /apis/certificates.k8s.io/v1/certificatesigningrequests hang").ok());
  StartKubeadmNode({"--kubeconfig", api_dir_ / "kubelet.conf", "--bootstrap-kubeconfig",
                    api_->Kubeconfig("bootstrap")});
  // All processes run, and none finds the kubeconfig.
  ASSERT_TRUE(WaitFor(kSoon, [this] {
    return LinesOf(*node_, "I").find("requesting certificate") != std::string::npos;
  }));
  ASSERT_TRUE(api_->ClearFaults().ok());
  ExpectWorkingNode();
  EXPECT_EQ(LinesOf(*node_, "WE"), "");
  const std::string lines = LinesOf(*node_, "I");
  EXPECT_NE(lines.find("status: I"), std::string::npos);
  const size_t said = lines.find("waiting for the client certificate (TLS bootstrap)");
  ASSERT_NE(said, std::string::npos);
  EXPECT_EQ(lines.find("waiting for the client certificate (TLS bootstrap)", said + 1),
            std::string::npos);
}

TEST_F(FirstMinute, WhatTheFileSetsInVainIsSaidByOneProcess) {
  StartNodeToServe("volumePluginDir: /p\nsplitlet: {machineSetup: false}\n");
  node_->StartProcess("node-api");
  const std::string lines = LinesOf(*node_, "WE");
  EXPECT_NE(lines.find("volumePluginDir"), std::string::npos) << lines;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << lines;
  EXPECT_TRUE(lines.starts_with("status: W")) << lines;
}

}  // namespace
}  // namespace splitlet::integration
