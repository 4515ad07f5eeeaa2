#include <gmock/gmock.h>

#include "libs/fake_api/api_server.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// The plugins of the node, and pod-worker's record of the node.

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;

class NodeDrivers : public testing::Test, public TestNode {
 protected:
  NodeDrivers() {
    api = &server_;
    EXPECT_TRUE(files.MakeDirs("/kubelet/plugins_registry", 0750).ok());
    plugins_at[kSocket] = {.type = plugins::kCsiPlugin,
                           .name = "disk",
                           .endpoint = "/csi/disk.sock",
                           .versions = {"1.0.0"}};
    drivers.At("/csi/disk.sock").info = {.node_id = "disk's node"};
  }
  v1::WorkerNode Node() const {
    const auto record = workers.Find("node");
    return record == nullptr ? v1::WorkerNode() : record->node();
  }
  void Announce() {
    files.MakeSocket(kSocket);
    RunFor(150ms);
  }
  std::vector<Status>& Reports() { return process->registrars.SeenBy(kSocket).reports; }

  static constexpr const char* kSocket = "/kubelet/plugins_registry/disk.sock";
  fake_api::FakeApiServer server_{clock};
};

TEST_F(NodeDrivers, AreInTheRecordOfTheNodeBesideItsDevices) {
  config.former_devices = std::vector<std::string>{"nvidia.com/gpu"};
  Start();
  EXPECT_FALSE(Node().volumes_known()) << "an attached volume of an earlier agent stays in use";
  EXPECT_EQ(Node().csi_drivers_size(), 0);
  Announce();
  ASSERT_EQ(Node().csi_drivers_size(), 1);
  EXPECT_EQ(Node().csi_drivers(0).node_id(), "disk's node");
  EXPECT_EQ(Node().devices_size(), 1);
  EXPECT_THAT(Reports(), ElementsAre());
  v1::PodStatusRecord record;
  record.mutable_node()->add_host_ips("192.0.2.1");
  *record.mutable_node()->add_csi_drivers()->mutable_driver() = Node().csi_drivers(0);
  ASSERT_TRUE(podstatus.Put("node", record).ok());
  Settle();
  EXPECT_THAT(Reports(), ElementsAre(OkStatus()));
  ASSERT_TRUE(files.Remove(kSocket).ok());
  RunFor(150ms);
  EXPECT_EQ(Node().csi_drivers_size(), 0);
  EXPECT_EQ(Node().devices_size(), 1);
}

TEST_F(NodeDrivers, AreFoundAgainAfterARestartOrAKill) {
  Start();
  Announce();
  const int64_t first = Node().csi_drivers(0).registration();
  RunFor(1s);
  Restart();
  RunFor(150ms);
  ASSERT_EQ(Node().csi_drivers_size(), 1);
  EXPECT_GT(Node().csi_drivers(0).registration(), first);
  EXPECT_FALSE(Node().csi_drivers_known());
  RunFor(DriverRegistry::kSettled);
  EXPECT_TRUE(Node().csi_drivers_known());
}

TEST_F(NodeDrivers, OfANodeWithoutAnApiServerAreInARecordThatGoesWithThem) {
  api = nullptr;
  Start();
  RunFor(10min);
  EXPECT_EQ(workers.Find("node"), nullptr);
  Announce();
  EXPECT_EQ(Node().csi_drivers_size(), 1);
  EXPECT_THAT(Reports(), ElementsAre(OkStatus()));
  ASSERT_TRUE(files.Remove(kSocket).ok());
  RunFor(150ms);
  EXPECT_EQ(workers.Find("node"), nullptr);
}

TEST_F(NodeDrivers, WaitForTheRuntime) {
  runtime.AddFault({.method = "ListPodSandbox", .message = "no runtime"});
  Start();
  Announce();
  EXPECT_EQ(process->registrars.SeenBy(kSocket).infos, 0);
  runtime.ClearFaults();
  RunFor(1min);
  EXPECT_EQ(process->registrars.SeenBy(kSocket).infos, 1);
}

}  // namespace
}  // namespace splitlet::pod_worker
