#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/apimachinery/pkg/util/intstr/intstr.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// What pods are told of the node's addresses, which status finds.

namespace splitlet::pod_worker {
namespace {

using Values = std::vector<std::string>;

class Addresses : public testing::Test, public TestNode {
 protected:
  /// Nobody has told any yet.
  Addresses() {
    podstatus.Remove(bus::kNodeKey);
    http.answer = [](const http::Exchange&) { return http::Outcome{.code = 200}; };
    traced.on_container = [this](const runtime::v1::ContainerConfig& made) {
      for (const auto& env : made.envs())
        if (env.key() == "V") values.push_back(env.value());
    };
  }
  /// Its container "app" asks for the field, and "other" for nothing.
  static kube::Pod PodThatAsks(const std::string& field, bool host_network = false) {
    auto pod = TestPod{.containers = {"app", "other"}}.Make();
    pod.mutable_spec()->set_host_network(host_network);
    auto& variable = *pod.mutable_spec()->mutable_containers(0)->add_env();
    variable.set_name("V");
    auto& ref = *variable.mutable_value_from()->mutable_field_ref();
    ref.set_api_version("v1");
    ref.set_field_path(field);
    return pod;
  }
  void Tell(const std::string& ip) {
    ShowNode({ip});
    Settle();
  }

  Values values;  // of the variable, as containers were made with it
};

TEST_F(Addresses, OnlyTheContainerThatAsksForOneWaits) {
  const struct {
    const char* field;
    bool host_network;
  } kCases[] = {{"status.hostIP", false}, {"status.podIPs", true}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.field);
    TestNode node;
    node.podstatus.Remove(bus::kNodeKey);
    Values made;
    node.traced.on_container = [&made](const runtime::v1::ContainerConfig& config) {
      for (const auto& env : config.envs())
        if (env.key() == "V") made.push_back(env.value());
    };
    node.Start();
    ASSERT_TRUE(node.RunPod(PodThatAsks(c.field, c.host_network)).ok());
    node.RunFor(60s);
    EXPECT_EQ(node.Show(), "other/0=running sandbox/0=ready");
    EXPECT_EQ(node.NoteOf("app").reason(), "CreateContainerConfigError");
    EXPECT_EQ(node.NoteOf("app").message(), "host IP unknown; known addresses: []");
    EXPECT_EQ(node.events.Text("Failed"), "Error: host IP unknown; known addresses: []");
    node.ShowNode({"192.0.2.7"});
    node.Settle();
    EXPECT_EQ(node.Show(), "app/0=running other/0=running sandbox/0=ready") << "at once";
    EXPECT_EQ(made, Values{"192.0.2.7"});
  }
}

TEST_F(Addresses, ThoseOfThisBootServeAStartWithoutStatus) {
  Tell("192.0.2.7");
  Start();
  RunFor(1s);
  Kill();
  status_bus.reset();
  Start();
  ASSERT_TRUE(RunPod(PodThatAsks("status.hostIP")).ok());
  EXPECT_EQ(values, Values{"192.0.2.7"});
  Reboot();
  Start();
  ASSERT_TRUE(RunPod(PodThatAsks("status.hostIP")).ok());
  RunFor(60s);
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError") << "they are void now";
  EXPECT_EQ(values, Values{"192.0.2.7"});
}

TEST_F(Addresses, ThoseThatChangeGoToWhatStartsFromThenOn) {
  Tell("192.0.2.7");
  Start();
  ASSERT_TRUE(RunPod(PodThatAsks("status.hostIP")).ok());
  Tell("192.0.2.8");
  RunFor(60s);
  EXPECT_EQ(values, Values{"192.0.2.7"}) << "nothing starts again for it";
  Exit("app", 1);
  RunFor(60s);
  EXPECT_EQ(values, (Values{"192.0.2.7", "192.0.2.8"}));
  podstatus.Remove(bus::kNodeKey);
  Exit("app", 1);
  RunFor(60s);
  EXPECT_EQ(values, (Values{"192.0.2.7", "192.0.2.8", "192.0.2.8"})) << "a record's absence";
}

TEST_F(Addresses, ProbesOnTheHostsNetworkGoToThePresentOne) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->set_host_network(true);
  auto& probe = *pod.mutable_spec()->mutable_containers(0)->mutable_liveness_probe();
  probe.set_period_seconds(1);
  probe.set_timeout_seconds(1);
  probe.set_success_threshold(1);
  probe.set_failure_threshold(3);
  auto& get = *probe.mutable_handler()->mutable_http_get();
  get.mutable_port()->set_int_val(80);
  get.set_path("/");
  get.set_scheme("HTTP");
  Start();
  RunFor(60s);  // older than a period
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(60s);
  EXPECT_TRUE(http.asked.empty()) << "there is nobody to ask";
  EXPECT_EQ(events.Count("Unhealthy"), 0);
  Tell("192.0.2.7");
  RunFor(2s);
  ASSERT_FALSE(http.asked.empty());
  EXPECT_EQ(http.asked.back().url, "http://192.0.2.7:80/");
  Tell("192.0.2.8");
  RunFor(2s);
  EXPECT_EQ(http.asked.back().url, "http://192.0.2.8:80/");
}

TEST_F(Addresses, AFileThatCannotBeWrittenIsTriedAgainAndHoldsUpNothing) {
  files.SetFull("/run/pod-worker/node", true);
  Tell("192.0.2.7");
  Start();
  ASSERT_TRUE(RunPod(PodThatAsks("status.hostIP")).ok());
  EXPECT_EQ(values, Values{"192.0.2.7"});
  RunFor(10s);
  const auto told = std::ranges::count_if(sink.lines(), [](const auto& line) {
    return line.message == "cannot save the node's addresses, will try again";
  });
  EXPECT_EQ(told, 1);
  files.SetFull("/run/pod-worker/node", false);
  RunFor(2s);
  EXPECT_TRUE(files.Stat("/run/pod-worker/node/addresses", false).ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
