// Tests the whole stack as a node of an API server on real containerd: pods start and end, the
// server is down, processes are killed in between.

#include <gmock/gmock.h>

#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/cri/grpc_runtime.h"
#include "tests/e2e/cluster_fixture.h"

namespace splitlet::e2e {
namespace {

namespace core = k8s::io::api::core::v1;

using Cluster = ClusterTest;

constexpr auto kAway = 60s;
constexpr const char* kLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1";

std::vector<std::string> NamesOf(const std::string& prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(fmt::format("{}-{}", prefix, i));
  return names;
}

TEST_F(Cluster, TwoHundredPodsInWavesComeAndGoAndLeaveNothing) {
  constexpr int kWaves = 8, kWave = 25;
  StartCluster();
  ASSERT_TRUE(WaitFor(
      kSoon, [&] { return Read<k8s::io::api::coordination::v1::Lease>(kLease).has_value(); }));
  for (int wave = 0; wave < kWaves; ++wave) {  // each wave starts while the previous one ends
    SCOPED_TRACE(wave);
    const auto names = NamesOf(fmt::format("wave-{}", wave), kWave);
    for (const auto& name : names) CreatePod({.name = name, .script = ""});
    ASSERT_NO_FATAL_FAILURE(ExpectAllReady(names));
    for (const auto& name : names) ASSERT_TRUE(api_->Delete(PathOf(name)).ok());
  }
  ExpectNoPodsAtServer();
  ExpectNothingLeft();
  EXPECT_TRUE(NodeIs("Ready", "True"));
}

/// Evicts like a controller: all pods except those of a DaemonSet and static pods.
TEST_F(Cluster, ADrainEndsPodsWithTheirGraceAndLeavesThoseOfTheNode) {
  StartCluster();
  node_->PutManifest("fixed.yaml", PodYaml("fixed", "sleep 1000"));
  CreatePod({.name = "agent",
             .script = "sleep 1000",
             .of_metadata = R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet",)"
                            R"("name":"agent","uid":"1","controller":true}])"});
  // The container takes a while to end, and writes that it did.
  CreatePod({.name = "slow",
             .script = "trap 'sleep 1; echo bye > /scratch/bye; exit 0' TERM; "
                       "echo up > /scratch/up; sleep 1000 & wait",
             .of_spec = fmt::format(
                 R"(,"volumes":[{{"name":"scratch","hostPath":{{"path":"{}"}}}}])", scratch()),
             .of_container = R"(,"volumeMounts":[{"name":"scratch","mountPath":"/scratch"}])",
             .grace = 20});
  CreatePod({.name = "stubborn", .script = "trap '' TERM; while :; do sleep 1; done", .grace = 2});
  ExpectAllReady({"agent", "slow", "stubborn", "fixed-node-1"});
  ASSERT_TRUE(WaitFor(kSoon, [&] { return harness::ReadFile(scratch() + "/up") == "up\n"; }))
      << "it runs, and does not listen for its signal yet";
  ASSERT_TRUE(
      api_->Send(fmt::format(R"(patch {} {{"spec":{{"unschedulable":true}}}})", kNodePath)).ok());
  for (const char* name : {"slow", "stubborn"}) {
    const auto evicted =
        api_->Send(fmt::format(R"(post {}/eviction {{"apiVersion":"policy/v1","kind":"Eviction",)"
                               R"("metadata":{{"name":"{}","namespace":"default"}}}})",
                               PathOf(name), name));
    ASSERT_TRUE(evicted.ok()) << evicted.status();
  }
  for (const char* name : {"slow", "stubborn"}) ExpectPhase(name, "gone");
  EXPECT_EQ(harness::ReadFile(scratch() + "/bye"), "bye\n");
  ExpectExactly({"agent", "fixed"});
  EXPECT_EQ(RestartsOf("agent"), 0);
  const auto node = Read<core::Node>(kNodePath);
  ASSERT_TRUE(node);
  EXPECT_TRUE(node->spec().unschedulable()) << "the node took back what was said of it";
}

TEST_F(Cluster, ForAMinuteWithoutTheServerPodsGoOnAndAllIsHonouredAfterIt) {
  StartCluster();
  for (const char* name : {"stays", "goes"}) CreatePod({.name = name, .script = "sleep 1000"});
  ExpectAllReady({"stays", "goes"});
  auto goes = api_->Get(PathOf("goes"));
  ASSERT_TRUE(goes.ok()) << goes.status();
  constexpr std::string_view kMeta = "\"metadata\":{";
  goes->insert(goes->find(kMeta) + kMeta.size(),
               fmt::format(R"("deletionTimestamp":"{}","deletionGracePeriodSeconds":1,)",
                           FormatRfc3339(RealClock().WallNow())));

  ASSERT_TRUE(api_->SetAway(true).ok());
  ASSERT_TRUE(api_->Put(PathOf("goes"), *goes).ok());
  ASSERT_TRUE(api_->Put(PathOf("new"), PodText{.name = "new", .script = "sleep 1000"}.Json()).ok());
  ASSERT_TRUE(view_->runtime()
                  .StopContainer(view_->RunningOf("stays").at(0).id, 0, After(view_->clock(), 30s))
                  .ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("stays") == 1 && node_->IsRunning("stays"); }))
      << "a container that died is not started again";
  node_->KillAndAwait("config-source");
  EXPECT_TRUE(harness::HoldsFor(kAway, [&] {
    return view_->RunningOf("goes").size() == 1 && view_->RunningOf("stays").size() == 1;
  })) << "a pod went because the server could not be asked";

  ASSERT_TRUE(api_->SetAway(false).ok());
  ExpectPhase("goes", "gone");
  ExpectAllReady({"stays", "new"});
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = Read<core::Pod>(PathOf("stays"));
    return pod && pod->status().container_statuses_size() == 1 &&
           pod->status().container_statuses(0).restart_count() == 1;
  })) << "what happened meanwhile is not told";
  ExpectExactly({"stays", "new"});
}

TEST_F(Cluster, StatusKilledAgainAndAgainLosesNoStatusAndBringsNobodyBack) {
  StartCluster();
  const auto names = NamesOf("web", 10);
  CreatePod({.name = "job", .script = "exit 0", .of_spec = R"(,"restartPolicy":"Never")"});
  for (const auto& name : names) {
    CreatePod({.name = name, .script = ""});
    if (name == "web-3" || name == "web-7") node_->KillAndAwait("status");
  }
  node_->KillAndAwait("status");
  ExpectAllReady(names);
  ExpectPhase("job", "Succeeded");
  for (const auto& name : names) {
    ASSERT_TRUE(api_->Delete(PathOf(name)).ok());
    if (name == "web-3" || name == "web-7") node_->KillAndAwait("status");
  }
  node_->KillAndAwait("status");
  for (const auto& name : names) ExpectPhase(name, "gone");
  EXPECT_EQ(PhaseOf("job"), "Succeeded");
  ExpectExactly({});
  ASSERT_TRUE(api_->Delete(PathOf("job")).ok());
  ExpectNoPodsAtServer();
  ExpectNothingLeft();
}

}  // namespace
}  // namespace splitlet::e2e
