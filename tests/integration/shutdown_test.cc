// The machine shuts down: a fake logind on a private bus announces it to six real processes.

#include <gmock/gmock.h>

#include "libs/base/processes.h"
#include "libs/dbus/connection.h"
#include "splitlet/v1/records.pb.h"
#include "tests/fake_cri/control.h"
#include "tests/harness/dbus_daemon.h"
#include "tests/harness/fake_logind.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

using testing::HasSubstr;

class NodeShutdown : public IntegrationTest {
 protected:
  /// The inhibitor delay is long enough, so nothing is written below /etc.
  void SetUp() override {
    logind_.SetDelay(30'000'000, 0);
    ServeLogind();
  }
  void ServeLogind() {
    auto bus = dbus::ConnectService({clock_, daemon_.address()}, After(clock_, kSoon));
    ASSERT_TRUE(bus.ok()) << bus.status();
    service_ = std::move(*bus);
    for (const char* name : {harness::FakeLogind::kName, harness::FakeLogind::kSystemdName}) {
      const Status served = service_->Serve(
          name, [this](const dbus::MethodCall& call) { return logind_.Answer(call); },
          After(clock_, kSoon));
      ASSERT_TRUE(served.ok()) << served;
    }
  }
  void StartShutting() {
    harness::NodeOptions options;
    options.config =
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "fileCheckFrequency: 2s\nsyncFrequency: 10s\nevictionHard: {}\n"
        "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n";
    options.env["DBUS_SYSTEM_BUS_ADDRESS"] = daemon_.address();
    StartNode(options);
    ASSERT_TRUE(WaitFor(kSoon, [&] { return logind_.Locks() == 1; }));
  }
  void Prepare(bool preparing) {
    const Status told = service_->Emit(logind_.Prepare(preparing));
    ASSERT_TRUE(told.ok()) << told;
  }
  std::string Ended(const std::string& name) {
    const auto pod = node_->Pod(name);
    return pod == nullptr ? "" : pod->phase + " " + pod->reason + ": " + pod->message;
  }
  std::string Ready() {
    const auto records = node_->Table<v1::PodStatusRecord>("podstatus");
    const auto node = records.find("node");
    if (node == records.end()) return "";
    for (const auto& condition : node->second.node().conditions())
      if (condition.type() == "Ready") return condition.status() + ": " + condition.message();
    return "";
  }

  const RealClock clock_;
  const harness::TempDir bus_dir_{"dbus"};
  harness::DbusDaemon daemon_{bus_dir_.path()};
  harness::FakeLogind logind_;
  std::unique_ptr<dbus::ServiceBus> service_;
};

constexpr const char* kEnded =
    "Failed Terminated: Pod was terminated in response to imminent node shutdown.";

TEST_F(NodeShutdown, PodsEndTheMachineGoesAndAfterItTheyLiveAgain) {
  StartShutting();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  node_->PutManifest("dear.yaml",
                     PodYaml("dear", "sleep 1000", "  priorityClassName: system-node-critical\n"));
  node_->PutManifest("once.yaml", PodYaml("once", "sleep 1000", "  restartPolicy: Never\n"));
  for (const char* pod : {"web", "dear", "once"}) ExpectRunning(pod);
  Prepare(true);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Ready() == "False: node is shutting down"; })) << Ready();
  for (const char* pod : {"web", "dear", "once"})
    EXPECT_TRUE(WaitFor(kSoon, [&] { return Ended(pod) == kEnded; })) << pod << ": " << Ended(pod);
  ASSERT_TRUE(WaitFor(kSoon, [&] { return logind_.Locks() == 0; }));
  ExpectExactly({});
  // sync-loop may notice later than this test; pods that it admits in between end like the others.
  const std::string refused =
      "Failed NodeShutdown: Pod was rejected: Pod was rejected as the node is shutting down.";
  std::vector<std::string> back = {"web", "dear"};
  std::string ended;
  for (std::string late = "late"; ended != refused; late += "r") {
    ASSERT_LT(back.size(), 6U) << "it never hears of it: " << ended;
    node_->PutManifest(late + ".yaml", PodYaml(late, "sleep 1000"));
    ASSERT_TRUE(WaitFor(kSoon, [&] { return (ended = Ended(late)).starts_with("Failed"); }))
        << ended;
    back.push_back(late);
  }
  const std::string metrics = node_->HttpGet("gc", "/metrics");
  EXPECT_THAT(metrics, HasSubstr("\nkubelet_graceful_shutdown_end_time_seconds 1"));
  for (const char* process : {"pod-worker", "sync-loop", "gc", "status", "config-source"})
    node_->KillAndAwait(process);
  EXPECT_TRUE(harness::HoldsFor(3s, [&] { return view_->RunningOf("web").empty(); }))
      << "not in this boot";

  for (const auto& process : ProcessNames()) node_->StopProcess(process);
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.StopEverything().ok());
  logind_.Prepare(false);  // a new announcement
  node_->SetEnv("SPLITLET_BOOT_ID", "another-boot");
  for (const auto& process : ProcessNames()) node_->StartProcess(process);
  ExpectExactly(back);
  EXPECT_EQ(Ended("once"), kEnded);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return logind_.Locks() == 1; }));
}

TEST_F(NodeShutdown, OneThatIsCalledOffLetsPodsInAgain) {
  StartShutting();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  Prepare(true);
  ASSERT_TRUE(WaitFor(kSoon, [&] { return Ended("web") == kEnded; })) << Ended("web");
  ASSERT_TRUE(WaitFor(kSoon, [&] { return logind_.Locks() == 0; }));
  Prepare(false);
  ASSERT_TRUE(WaitFor(kSoon, [&] { return logind_.Locks() == 1; }));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Ready().starts_with("True"); })) << Ready();
  node_->PutManifest("new.yaml", PodYaml("new", "sleep 1000"));
  ExpectExactly({"new"});
}

TEST_F(NodeShutdown, ABusThatGoesAndComesBackIsFollowed) {
  StartShutting();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  daemon_.Kill();
  daemon_.Start();
  ServeLogind();
  ASSERT_TRUE(WaitFor(kSoon, [&] { return logind_.inhibits().size() >= 2; }));
  Prepare(true);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Ended("web") == kEnded; })) << Ended("web");
}

class NodeShutdownKilledAt : public NodeShutdown,
                             public testing::WithParamInterface<const char*> {};

TEST_P(NodeShutdownKilledAt, AnEffectThePodsEndAllTheSame) {
  StartShutting();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  node_->PutManifest("dear.yaml",
                     PodYaml("dear", "sleep 1000", "  priorityClassName: system-node-critical\n"));
  for (const char* pod : {"web", "dear"}) ExpectRunning(pod);
  ASSERT_TRUE(node_->SetFault("gc", GetParam(), "1*crash").ok());
  Prepare(true);
  for (const char* pod : {"web", "dear"})
    EXPECT_TRUE(WaitFor(kSoon, [&] { return Ended(pod) == kEnded; })) << pod << ": " << Ended(pod);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Ready() == "False: node is shutting down"; })) << Ready();
  ExpectExactly({});
}

INSTANTIATE_TEST_SUITE_P(NodeShutdown, NodeShutdownKilledAt,
                         testing::Values("gc.save-shutdown.before", "gc.save-shutdown.after",
                                         "gc.end-pod.before", "gc.end-pod.after"));

}  // namespace
}  // namespace splitlet::integration
