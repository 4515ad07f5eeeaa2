#include <gtest/gtest.h>

#include <algorithm>

#include "libs/bus/fake_bus.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "services/status/status_service.h"

namespace splitlet::status {
namespace {

class Answering final : public peers::PeerHealth {
 public:
  StatusOr<peers::PeerAnswer> Ask(const std::string&, Deadline) override {
    return peers::PeerAnswer{};
  }
};

/// The service on a machine whose addresses the test sets.
class NodeRecordTest : public ::testing::Test {
 protected:
  NodeRecordTest() {
    EXPECT_TRUE(files.Replace("/sys/devices/system/cpu/online", "0-3", {}).ok());
    EXPECT_TRUE(files.Replace("/proc/meminfo", "MemTotal: 8388608 kB\n", {}).ok());
    pressure.SetComplete({.scopes = {std::string(bus::kAll)}, .observed_at = {}});
  }
  void Start() {
    service = std::make_unique<StatusService>(
        StatusDeps{
            .env =
                {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
            .files = files,
            .table = *bus::Own<v1::PodStatusRecord>(own, "podstatus"),
            .desired = *bus::ViewOf<v1::DesiredRecord>(own, "desired"),
            .admission = *bus::ViewOf<v1::AdmissionRecord>(own, "admission"),
            .workers = *bus::ViewOf<v1::WorkerRecord>(own, "workers"),
            .runtime = *bus::ViewOf<v1::RuntimeRecord>(own, "runtime"),
            .pressure = *bus::ViewOf<v1::PressureRecord>(own, "pressure"),
            .peers = std::make_unique<Answering>(),
            .list_addresses = [this] { return addresses; }},
        StatusConfig{.node_name = "node-a", .root_dir = "/kubelet"});
    loop.Post([this] { service->Start(); });
    all.Advance(2s);
  }
  std::vector<std::string> Shown() const {
    const auto record = podstatus.Find("node");
    if (record == nullptr) return {"no record"};
    EXPECT_TRUE(std::ranges::equal(record->node().addresses(), record->node().host_ips()));
    return {record->node().addresses().begin(), record->node().addresses().end()};
  }
  std::string ConditionOf(const std::string& type) const {
    const auto record = podstatus.Find("node");
    for (const auto& condition : record->node().conditions())
      if (condition.type() == type) return condition.status();
    return "none";
  }
  ptrdiff_t Events(const std::string& reason) const {
    return std::ranges::count(service->ListEvents("node-a"), reason, &v1::EventRecord::reason);
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  exec::FakeLoop loop{all, all.NewOwner("status")}, others{all, all.NewOwner("others")};
  bus::FakeBusNetwork network{clock, 1};
  exec::FakeStrands strands{loop};
  fs::FakeFileSystem files{clock};
  bus::FakeBus own{network, "status", loop}, gc{network, "gc", others},
      reader{network, "reader", others}, pod_worker{network, "pod-worker", others};
  bus::Table<v1::WorkerRecord> workers = *bus::Own<v1::WorkerRecord>(pod_worker, "workers");
  bus::Table<v1::PressureRecord> pressure = *bus::Own<v1::PressureRecord>(gc, "pressure");
  bus::View<v1::PodStatusRecord> podstatus = *bus::ViewOf<v1::PodStatusRecord>(reader, "podstatus");
  using Addresses = std::vector<node::InterfaceAddress>;
  StatusOr<Addresses> addresses = Addresses();
  FakeLogSink sink;
  const Log log{sink};
  prometheus::Registry registry;
  std::unique_ptr<StatusService> service;
};

TEST_F(NodeRecordTest, TheNodesAddressesFollowTheMachines) {
  using Texts = std::vector<std::string>;
  addresses = Addresses();
  Start();
  EXPECT_EQ(Shown(), Texts{}) << "the network comes later than this process";
  addresses = Addresses{{.interface = "eth0", .address = "192.0.2.1"}};
  all.Advance(11s);
  EXPECT_EQ(Shown(), Texts{"192.0.2.1"});
  addresses = Addresses{{.interface = "eth0", .address = "192.0.2.2"}};
  all.Advance(11s);
  EXPECT_EQ(Shown(), Texts{"192.0.2.2"});
  addresses = Unavailable("busy");
  all.Advance(11s);
  EXPECT_EQ(Shown(), Texts{"192.0.2.2"}) << "not known is not gone";
}

TEST_F(NodeRecordTest, DevicesAreWhatPodWorkerKnowsOfThem) {
  const auto shown = [this](const char* name) {
    const auto record = podstatus.Find("node");
    const auto& node = record->node();
    const auto of = [name](const auto& amounts) {
      const auto at = amounts.find(name);
      return at == amounts.end() ? std::string("none") : at->second;
    };
    return of(node.capacity()) + "/" + of(node.allocatable());
  };
  Start();
  EXPECT_EQ(shown("nvidia.com/gpu"), "none/none");
  v1::WorkerRecord devices;
  devices.mutable_node()->add_devices()->set_name("nvidia.com/gpu");
  ASSERT_TRUE(workers.Put("node", devices).ok());
  all.Advance(1s);
  EXPECT_EQ(shown("nvidia.com/gpu"), "0/0");
  EXPECT_EQ(shown("pods"), "110/110") << "the others stay";
  EXPECT_TRUE(podstatus.Contains("node")) << "it is no pod that has gone";
}

/// As the events of a kubelet that starts, and no more of them: they come with each start.
TEST_F(NodeRecordTest, EachPressureIsToldWhenItIsKnownAndWhenItChanges) {
  v1::PressureRecord met;
  met.add_conditions("DiskPressure");
  Start();
  all.Advance(11s);
  EXPECT_EQ(Events("NodeHasSufficientMemory"), 0) << "gc has not said anything yet";
  ASSERT_TRUE(pressure.Put("node", met).ok());
  all.Advance(11s);
  EXPECT_EQ(Events("NodeHasDiskPressure"), 1) << "also when it existed before the start";
  EXPECT_EQ(Events("NodeHasSufficientMemory"), 1);
  EXPECT_EQ(Events("NodeHasSufficientPID"), 1);
  EXPECT_EQ(Events("NodeHasNoDiskPressure"), 0);
  ASSERT_TRUE(pressure.Put("node", {}).ok());
  all.Advance(1min);
  EXPECT_EQ(Events("NodeHasNoDiskPressure"), 1);
  EXPECT_EQ(Events("NodeHasDiskPressure"), 1);
  EXPECT_EQ(Events("NodeHasSufficientMemory"), 1) << "nothing changed";
  EXPECT_EQ(Events("NodeHasSufficientPID"), 1);
}

TEST_F(NodeRecordTest, APressureThatNobodyKnowsForAWhileIsNotToldAgain) {
  Start();
  ASSERT_TRUE(pressure.Put("node", {}).ok());
  all.Advance(11s);
  EXPECT_EQ(Events("NodeHasNoDiskPressure"), 1);
  pressure.Remove("node");
  all.Advance(11s);
  ASSERT_EQ(ConditionOf("DiskPressure"), "Unknown");
  ASSERT_TRUE(pressure.Put("node", {}).ok());
  all.Advance(11s);
  ASSERT_EQ(ConditionOf("DiskPressure"), "False");
  EXPECT_EQ(Events("NodeHasNoDiskPressure"), 1);
}

}  // namespace
}  // namespace splitlet::status
