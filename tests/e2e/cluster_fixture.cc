#include "tests/e2e/cluster_fixture.h"

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/node.pb.h"
#include "tests/harness/free_port.h"

namespace splitlet::e2e {
namespace {

namespace core = k8s::io::api::core::v1;

/// The settings of the test machine must not change. node-api identifies clients by certificate,
/// and the API server authorizes them.
constexpr const char* kConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
syncFrequency: 10s
failSwapOn: false
evictionHard: {{}}
address: 127.0.0.1
port: {}
healthzPort: 0
serverTLSBootstrap: true
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509: {{clientCAFile: {}}}
authorization: {{mode: Webhook}}
splitlet: {{machineSetup: false}}
)";

}  // namespace

std::string PodText::Json() const {
  const std::string command =
      script.empty() ? "" : fmt::format(R"(,"command":["/bin/sh","-c","{}"])", script);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"{}}},)"
      R"("spec":{{"nodeName":"node-1","terminationGracePeriodSeconds":{}{},"containers":[{{)"
      R"("name":"app","image":"{}"{}{}}}]}}}})",
      name, of_metadata, grace, of_spec, script.empty() ? "splitlet.local/pause:1" : image, command,
      of_container);
}

std::string ClusterTest::Config() const {
  return fmt::format(kConfig, port_, api_dir_->path() + "/ca.crt");
}

void ClusterTest::StartCluster(const std::vector<std::string>& flags) {
  api_dir_ = std::make_unique<harness::TempDir>("api");
  api_ = std::make_unique<fake_api::ApiServerProcess>(
      fake_api::ApiServerProcess::Options{.program = harness::BinDir() + "/fake-api",
                                          .dir = api_dir_->path(),
                                          .node = "node-1",
                                          .flags = {}});
  api_->Start();
  port_ = harness::FreePort();
  std::vector<std::string> all{"--kubeconfig", api_->Kubeconfig("node"), "--cert-dir",
                               api_dir_->path() + "/pki"};
  all.insert(all.end(), flags.begin(), flags.end());
  StartNode({.config = Config(), .flags = std::move(all)});
  if (node_->keeper().PidOf("node-api") == 0) node_->StartProcess("node-api");
  ASSERT_TRUE(WaitFor(kSoon, [&] { return NodeIs("Ready", "True"); })) << "the node is not ready";
}

void ClusterTest::TearDown() {
  E2eTest::TearDown();
  api_.reset();
}

void ClusterTest::RemoveWantedPods() {
  E2eTest::RemoveWantedPods();
  for (const auto& pod : PodsAtServer())
    EXPECT_TRUE(api_->Delete(fmt::format("/api/v1/namespaces/{}/pods/{}",
                                         pod.metadata().namespace_(), pod.metadata().name()))
                    .ok());
}

void ClusterTest::CreatePod(const PodText& pod) {
  const auto made = api_->Send(fmt::format("post {} {}", kPodsPath, pod.Json()));
  ASSERT_TRUE(made.ok()) << made.status();
}

std::vector<core::Pod> ClusterTest::PodsAtServer() {
  const auto list = Read<core::PodList>(kPodsPath);
  return list ? std::vector<core::Pod>(list->items().begin(), list->items().end())
              : std::vector<core::Pod>();
}

std::string ClusterTest::PhaseOf(const std::string& pod) {
  const auto found = Read<core::Pod>(PathOf(pod));
  return found ? found->status().phase() : "gone";
}

bool ClusterTest::NodeIs(const std::string& condition, const std::string& status) {
  const auto node = Read<core::Node>(kNodePath);
  return node && std::ranges::any_of(node->status().conditions(), [&](const auto& c) {
           return c.type() == condition && c.status() == status;
         });
}

void ClusterTest::ExpectPhase(const std::string& pod, const std::string& phase) {
  std::string last;
  ASSERT_TRUE(WaitFor(kSoon,
                      [&] {
                        last = PhaseOf(pod);
                        return last == phase;
                      }))
      << pod << " is " << last << " at the server, not " << phase;
}

void ClusterTest::ExpectAllReady(const std::vector<std::string>& pods) {
  std::set<std::string> missing;
  ASSERT_TRUE(WaitFor(kSoon,
                      [&] {
                        missing = {pods.begin(), pods.end()};
                        for (const auto& pod : PodsAtServer())
                          for (const auto& condition : pod.status().conditions())
                            if (condition.type() == "Ready" && condition.status() == "True" &&
                                pod.status().phase() == "Running")
                              missing.erase(pod.metadata().name());
                        return missing.empty();
                      }))
      << missing.size() << " are not ready at the server, such as " << *missing.begin();
}

void ClusterTest::ExpectNoPodsAtServer() {
  ASSERT_TRUE(WaitFor(kSoon,
                      [&] {
                        const auto list = Read<core::PodList>(kPodsPath);
                        return list && list->items().empty();
                      }))
      << PodsAtServer().size() << " pods are still at the server";
}

void ClusterTest::ExpectNothingLeft() {
  std::set<std::string> left;
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    left = leaks_->Left();
    return left.empty();
  })) << fmt::format("{}", fmt::join(left, "\n"));
  EXPECT_TRUE(node_->Pods().empty());
}

}  // namespace splitlet::e2e
