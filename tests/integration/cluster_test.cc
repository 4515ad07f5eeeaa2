// A node of an API server: it registers, runs the pods bound to it, reports their status, and keeps
// running while the server is away.

#include <algorithm>

#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/event.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/kube/codec.h"
#include "tests/fake_api/api_server_process.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

namespace core = k8s::io::api::core::v1;
using fake_api::ApiServerProcess;

constexpr const char* kNode = "/api/v1/nodes/node-1";
constexpr const char* kLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1";

/// The machine's settings must not change, no port is taken from other programs, and a full disk
/// does not matter.
constexpr const char* kConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
syncFrequency: 10s
failSwapOn: false
evictionHard: {}
enableServer: false
splitlet: {machineSetup: false}
)";

std::string PathOf(const std::string& pod) { return "/api/v1/namespaces/default/pods/" + pod; }

std::string PodJson(const std::string& name, const std::string& more_of_container = "") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},)"
      R"("spec":{{"nodeName":"node-1","terminationGracePeriodSeconds":1,"containers":[{{"name":)"
      R"("app","image":"busybox","command":["sleep","1000"]{}}}]}}}})",
      name, more_of_container);
}

class Cluster : public IntegrationTest {
 protected:
  void StartCluster() {
    api_dir_ = std::make_unique<harness::TempDir>("api");
    api_ = std::make_unique<ApiServerProcess>(
        ApiServerProcess::Options{.program = harness::BinDir() + "/fake-api",
                                  .dir = api_dir_->path(),
                                  .node = "node-1",
                                  .flags = {}});
    api_->Start();
    StartNode({.config = kConfig,
               .flags = {"--kubeconfig", api_->Kubeconfig("node"), "--cert-dir",
                         api_dir_->path() + "/pki"}});
  }
  void TearDown() override {
    EndNode();
    api_.reset();
  }

  template <class T>
  std::optional<T> Read(const std::string& path) {
    const auto json = api_->Get(path);
    if (!json.ok()) return std::nullopt;
    T object;
    const auto read = kube::DecodeInto(*json, path, kube::Strictness::kLenient, object);
    EXPECT_TRUE(read.ok()) << read.status();
    return object;
  }
  std::string PhaseOf(const std::string& pod) {
    const auto found = Read<core::Pod>(PathOf(pod));
    return found ? found->status().phase() : "gone";
  }
  bool NodeIs(const std::string& condition, const std::string& status) {
    const auto node = Read<core::Node>(kNode);
    return node && std::ranges::any_of(node->status().conditions(), [&](const auto& c) {
             return c.type() == condition && c.status() == status;
           });
  }
  void ExpectPhase(const std::string& pod, const std::string& phase) {
    ASSERT_TRUE(WaitFor(kSoon, [&] { return PhaseOf(pod) == phase; }))
        << pod << " is " << PhaseOf(pod) << ", not " << phase;
  }
  void ExpectReady() {
    ASSERT_TRUE(WaitFor(kSoon, [&] { return NodeIs("Ready", "True"); })) << "the node is not ready";
  }

  std::unique_ptr<harness::TempDir> api_dir_;
  std::unique_ptr<ApiServerProcess> api_;
};

TEST_F(Cluster, ANodeRegistersAndRunsWhatIsBoundToIt) {
  StartCluster();
  ExpectReady();
  const auto node = Read<core::Node>(kNode);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->metadata().labels().at("kubernetes.io/hostname"), "node-1");
  EXPECT_GT(node->status().allocatable().count("cpu"), 0u);
  EXPECT_TRUE(std::ranges::any_of(node->status().addresses(), [](const auto& address) {
    return address.type() == "Hostname" && address.address() == "node-1";
  }));
  ASSERT_TRUE(WaitFor(
      kSoon, [&] { return Read<k8s::io::api::coordination::v1::Lease>(kLease).has_value(); }));

  ASSERT_TRUE(api_->Put(PathOf("web"), PodJson("web")).ok());
  ExpectPhase("web", "Running");
  ExpectExactly({"web"});
  const auto pod = Read<core::Pod>(PathOf("web"));
  ASSERT_TRUE(pod);
  ASSERT_EQ(pod->status().container_statuses_size(), 1);
  EXPECT_TRUE(pod->status().container_statuses(0).ready());
  EXPECT_EQ(pod->status().container_statuses(0).restart_count(), 0);
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto events = api_->Send("list /api/v1/namespaces/default/events");
    return events.ok() && events->find("\"Started\"") != std::string::npos;
  })) << "no event of the start at the server";

  ASSERT_TRUE(api_->Delete(PathOf("web")).ok());
  ExpectPhase("web", "gone");
  ExpectGone("web");
}

TEST_F(Cluster, AConfigMapIsWaitedForAndReachesItsContainer) {
  StartCluster();
  ExpectReady();
  ASSERT_TRUE(api_->Put(PathOf("web"),
                        PodJson("web", R"(,"env":[{"name":"A","valueFrom":{"configMapKeyRef":)"
                                       R"({"name":"settings","key":"a"}}}])"))
                  .ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = node_->Pod("web");
    return pod && !pod->containers.empty() &&
           pod->containers[0].reason == "CreateContainerConfigError";
  }));
  ASSERT_TRUE(api_->Put("/api/v1/namespaces/default/configmaps/settings",
                        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings",)"
                        R"("namespace":"default"},"data":{"a":"1"}})")
                  .ok());
  ExpectPhase("web", "Running");
}

TEST_F(Cluster, AStaticPodHasAMirrorThatGoesWithIt) {
  StartCluster();
  ExpectReady();
  node_->PutManifest("fixed.yaml", PodYaml("fixed", "sleep 1000"));
  ExpectPhase("fixed-node-1", "Running");
  const auto mirror = Read<core::Pod>(PathOf("fixed-node-1"));
  ASSERT_TRUE(mirror);
  EXPECT_EQ(mirror->metadata().annotations().count("kubernetes.io/config.mirror"), 1u);

  ASSERT_TRUE(api_->Delete(PathOf("fixed-node-1")).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto again = Read<core::Pod>(PathOf("fixed-node-1"));
    return again && again->metadata().uid() != mirror->metadata().uid() &&
           again->status().phase() == "Running";
  })) << "the mirror is not made again";
  ExpectExactly({"fixed"});
  EXPECT_EQ(RestartsOf("fixed"), 0);

  node_->RemoveManifest("fixed.yaml");
  ExpectGone("fixed");
  ExpectPhase("fixed-node-1", "gone");
}

TEST_F(Cluster, WhileTheServerIsAwayPodsGoOnAndAreHonouredOnItsReturn) {
  StartCluster();
  ExpectReady();
  for (const char* name : {"stays", "goes"})
    ASSERT_TRUE(api_->Put(PathOf(name), PodJson(name)).ok());
  ExpectPhase("stays", "Running");
  ExpectPhase("goes", "Running");

  auto goes = api_->Get(PathOf("goes"));
  ASSERT_TRUE(goes.ok()) << goes.status();
  goes->insert(goes->find("\"metadata\":{") + std::string_view("\"metadata\":{").size(),
               fmt::format(R"("deletionTimestamp":"{}","deletionGracePeriodSeconds":1,)",
                           FormatRfc3339(RealClock().WallNow())));
  ASSERT_TRUE(api_->SetAway(true).ok());
  ASSERT_TRUE(api_->Put(PathOf("goes"), *goes).ok());  // a deletion that the node does not notice
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(view_->RunningOf("stays").at(0).id.str(), 1).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("stays") == 1 && node_->IsRunning("stays"); }))
      << "a container that died is not started again";
  for (const char* process : {"config-source", "status", "pod-worker"})
    node_->KillAndAwait(process);
  EXPECT_TRUE(harness::HoldsFor(3s, [&] { return view_->RunningOf("goes").size() == 1; }))
      << "a pod went because the server could not be asked";

  ASSERT_TRUE(api_->SetAway(false).ok());
  ExpectPhase("goes", "gone");
  ExpectGone("goes");
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = Read<core::Pod>(PathOf("stays"));
    return pod && pod->status().container_statuses_size() == 1 &&
           pod->status().container_statuses(0).restart_count() == 1;
  })) << "what happened meanwhile is not told";
  ExpectExactly({"stays"});
}

TEST_F(Cluster, AFinishedPodStaysFinishedWhoeverDies) {
  StartCluster();
  ExpectReady();
  ASSERT_TRUE(api_->Put(PathOf("job"),
                        [] {
                          std::string json = PodJson("job");
                          json.insert(json.find("\"nodeName\""), "\"restartPolicy\":\"Never\",");
                          return json;
                        }())
                  .ok());
  ExpectPhase("job", "Running");
  // The write that the server just accepted may kill status before it answers; then the fail point
  // is armed again.
  ASSERT_TRUE(WaitFor(kSoon, [this] {
    return node_->SetFault("status", "status.patch-pod.after", "1*crash").ok();
  }));
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(view_->RunningOf("job").at(0).id.str(), 0).ok());
  ExpectPhase("job", "Succeeded");
  for (const char* process : {"config-source", "sync-loop", "pod-worker", "status"})
    node_->KillAndAwait(process);
  EXPECT_TRUE(harness::HoldsFor(
      3s, [&] { return PhaseOf("job") == "Succeeded" && view_->RunningOf("job").empty(); }));
  ASSERT_TRUE(api_->Delete(PathOf("job")).ok());
  ExpectPhase("job", "gone");
}

}  // namespace
}  // namespace splitlet::integration
