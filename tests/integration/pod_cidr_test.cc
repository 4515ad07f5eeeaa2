// The pods' address range reaches the runtime: from the configuration, and from the Node at the API
// server.

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/pod_types.h"
#include "tests/fake_api/api_server_process.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

constexpr const char* kNodeWithCidr = "/api/v1/nodes/node-1";
constexpr const char* kCidrConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
failSwapOn: false
evictionHard: {}
enableServer: false
podCIDR: 10.9.0.0/16
splitlet: {machineSetup: false}
)";

class PodCidr : public IntegrationTest {
 protected:
  void TearDown() override {
    EndNode();
    api_.reset();
  }
  void StartCluster() {
    api_dir_ = std::make_unique<harness::TempDir>("api");
    api_ = std::make_unique<fake_api::ApiServerProcess>(
        fake_api::ApiServerProcess::Options{.program = harness::BinDir() + "/fake-api",
                                            .dir = api_dir_->path(),
                                            .node = "node-1",
                                            .flags = {"--rbac"}});
    api_->Start();
    StartNode({.config = kCidrConfig,
               .flags = {"--kubeconfig", api_->Kubeconfig("node"), "--cert-dir",
                         api_dir_->path() + "/pki"}});
  }
  /// Sets podCIDR like a controller, while the node reports itself.
  void GiveCidrs(const std::vector<std::string>& cidrs) {
    ASSERT_TRUE(WaitFor(kSoon, [&] {
      const auto json = api_->Get(kNodeWithCidr);
      kube::Node node;
      if (!json.ok() ||
          !kube::DecodeInto(*json, kNodeWithCidr, kube::Strictness::kLenient, node).ok())
        return false;
      node.mutable_spec()->clear_pod_cidrs();
      for (const auto& cidr : cidrs) node.mutable_spec()->add_pod_cidrs(cidr);
      return api_->Put(kNodeWithCidr, kube::ToJson(node, {.api_version = "v1", .kind = "Node"}))
          .ok();
    })) << "no node";
  }
  StatusOr<std::string> Runtime(const std::string& line) {
    return fake_cri::Control(control_).Send(line);
  }
  void ExpectTold(const std::string& want) {
    std::string told;
    ASSERT_TRUE(WaitFor(
        kSoon, [&] { return (told = Runtime("pod-cidrs").value_or("nobody answers")) == want; }))
        << told << ", not " << want;
  }
  void RestartRuntime() {
    runtime_.Stop("fake-cri");
    StartFakeCriAgain();
  }

  std::unique_ptr<harness::TempDir> api_dir_;
  std::unique_ptr<fake_api::ApiServerProcess> api_;
};

TEST_F(PodCidr, OfTheConfigurationIsToldAtEachStartOfEither) {
  StartNode({.config = kCidrConfig});
  ExpectTold("10.9.0.0/16");
  RestartRuntime();
  ExpectTold("10.9.0.0/16");
  node_->KillAndAwait("pod-worker");
  ExpectTold("10.9.0.0/16 10.9.0.0/16");
}

TEST_F(PodCidr, OfTheNodeIsToldWhenItComesAndUntilTheRuntimeTakesIt) {
  StartCluster();
  ExpectTold("10.9.0.0/16");
  GiveCidrs({"10.1.0.0/24"});
  ExpectTold("10.9.0.0/16 10.1.0.0/24");
  ASSERT_TRUE(Runtime("pod-cidrs error UNKNOWN").ok());
  GiveCidrs({"10.1.0.0/24", "fd00:1::/64"});
  ExpectTold("10.9.0.0/16 10.1.0.0/24 refused:10.1.0.0/24,fd00:1::/64");
  ASSERT_TRUE(Runtime("pod-cidrs ok").ok());
  ExpectTold("10.9.0.0/16 10.1.0.0/24 refused:10.1.0.0/24,fd00:1::/64 10.1.0.0/24,fd00:1::/64");
  RestartRuntime();
  ExpectTold("10.1.0.0/24,fd00:1::/64");
}

}  // namespace
}  // namespace splitlet::integration
