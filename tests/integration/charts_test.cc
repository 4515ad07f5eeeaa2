// Pods as an API server stores them (tests/charts); all of them must run.

#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/pod_types.h"
#include "tests/fake_api/api_server_process.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

constexpr const char* kChartsConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
syncFrequency: 10s
failSwapOn: false
evictionHard: {}
enableServer: false
splitlet: {machineSetup: false}
)";
constexpr const char* kObjects = "/api/v1/namespaces/default/";

std::vector<kube::Pod> ReadCharts() {
  std::set<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(harness::SourceDir() + "/tests/charts"))
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  std::vector<kube::Pod> pods;
  for (const auto& file : files) {
    kube::PodList list;
    const auto read =
        kube::DecodeInto(harness::ReadFile(file), file.filename(), kube::Strictness::kStrict, list);
    EXPECT_TRUE(read.ok()) << read.status();
    for (auto& pod : *list.mutable_items()) pods.push_back(std::move(pod));
  }
  return pods;
}

class ChartPods : public IntegrationTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can mount volumes in memory";
    api_dir_ = std::make_unique<harness::TempDir>("api");
    api_ = std::make_unique<fake_api::ApiServerProcess>(
        fake_api::ApiServerProcess::Options{.program = harness::BinDir() + "/fake-api",
                                            .dir = api_dir_->path(),
                                            .node = "node-1",
                                            .flags = {}});
    api_->Start();
    StartNode({.config = kChartsConfig,
               .flags = {"--kubeconfig", api_->Kubeconfig("node"), "--cert-dir",
                         api_dir_->path() + "/pki"}});
  }
  void TearDown() override {
    EndNode();
    api_.reset();
  }

  Status Put(const std::string& path, const std::string& json) {
    return api_->Put(kObjects + path, json);
  }
  /// Its init containers end immediately; sidecars run.
  void LetInitsEnd(const kube::Pod& pod) {
    for (const auto& init : pod.spec().init_containers()) {
      if (kube::IsSidecar(init)) continue;
      const auto told = fake_cri::Control(control_).Send(
          fmt::format("behave {} {} exit_after=100ms", pod.metadata().name(), init.name()));
      ASSERT_TRUE(told.ok()) << told.status();
    }
  }
  /// Name -> phase and reason, of pods that do not run.
  std::map<std::string, std::string> NotRunning(const std::vector<kube::Pod>& pods) {
    std::map<std::string, std::string> waiting;
    for (const auto& pod : pods) {
      const std::string& name = pod.metadata().name();
      const auto json = api_->Get(fmt::format("{}pods/{}", kObjects, name));
      kube::Pod shown;
      const bool read =
          json.ok() && kube::DecodeInto(*json, name, kube::Strictness::kLenient, shown).ok();
      const auto& status = shown.status();
      if (read && status.phase() == "Running") continue;
      std::string why = status.phase() + " " + status.reason() + " " + status.message();
      for (const auto& container : status.container_statuses())
        why += "; " + container.state().waiting().reason() + " " +
               container.state().waiting().message();
      waiting[name] = why;
    }
    return waiting;
  }

  std::unique_ptr<harness::TempDir> api_dir_;
  std::unique_ptr<fake_api::ApiServerProcess> api_;
};

TEST_F(ChartPods, EachRunsAsTheServerHasStoredIt) {
  ASSERT_TRUE(Put("secrets/database",
                  R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"database","namespace":)"
                  R"("default"},"data":{"password":"cGFzcw=="}})")
                  .ok());
  ASSERT_TRUE(Put("configmaps/database",
                  R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"database",)"
                  R"("namespace":"default"},"data":{"mode":"fast"}})")
                  .ok());
  const auto pods = ReadCharts();
  ASSERT_EQ(pods.size(), 30u);
  for (const auto& pod : pods) {
    LetInitsEnd(pod);
    const auto put = Put("pods/" + pod.metadata().name(),
                         kube::ToJson(pod, {.api_version = "v1", .kind = "Pod"}));
    ASSERT_TRUE(put.ok()) << put;
  }
  std::map<std::string, std::string> waiting;
  EXPECT_TRUE(WaitFor(kSoon * 2, [&] { return (waiting = NotRunning(pods)).empty(); }));
  for (const auto& [name, why] : waiting) ADD_FAILURE() << name << ": " << why;
  const auto events = api_->Send("list /api/v1/namespaces/default/events");
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->find("FailedValidation"), std::string::npos);
}

}  // namespace
}  // namespace splitlet::integration
