#include "services/status/api/node/registration.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/fake_api/api_server.h"
#include "services/status/api/node/node_object.h"

namespace splitlet::status {
namespace {

class Registration : public ::testing::Test {
 protected:
  Registration() {
    observed.system.boot_id = "boot-1";
    observed.now = clock.WallNow();
    (*observed.record.mutable_capacity())["cpu"] = "4";
    (*observed.record.mutable_allocatable())["cpu"] = "4";
    settings.labels["zone"] = "a";
    settings.taints = {{.key = "k", .value = "v", .effect = "NoSchedule"}};
  }
  StatusOr<Registered> Register(bool reset_extended = false) {
    return RegisterNode(
        {.clock = clock, .client = client, .timeout = 1s, .reset_extended = reset_extended},
        MakeInitialNode(settings, observed));
  }
  void PutExisting(const std::string& boot_id) {
    kube::Node node;
    node.mutable_metadata()->set_name("n1");
    (*node.mutable_metadata()->mutable_labels())["mine"] = "x";
    (*node.mutable_metadata()->mutable_labels())["kubernetes.io/hostname"] = "wrong";
    node.mutable_spec()->set_provider_id("cloud://1");
    node.mutable_status()->mutable_node_info()->set_boot_id(boot_id);
    for (auto* amounts :
         {node.mutable_status()->mutable_capacity(), node.mutable_status()->mutable_allocatable()})
      (*amounts)["example.com/gpu"].set_string("2");
    server.Put("/api/v1/nodes/n1", node);
  }
  kube::Node Stored() {
    kube::Node node;
    EXPECT_TRUE(server.Get("/api/v1/nodes/n1", node));
    return node;
  }

  FakeClock clock;
  fake_api::FakeApiServer server{clock};
  apiclient::Client client{clock, server, {}};
  NodeSettings settings{.name = "n1"};
  NodeObservation observed;
};

TEST_F(Registration, CreatesTheNode) {
  const auto registered = Register();
  ASSERT_TRUE(registered.ok()) << registered.status();
  EXPECT_TRUE(registered->created);
  EXPECT_FALSE(registered->node->metadata().uid().empty());
  EXPECT_EQ(Stored().metadata().labels().at("zone"), "a");
  EXPECT_EQ(Stored().spec().taints(0).key(), "k");
  EXPECT_EQ(Stored().status().capacity().at("cpu").string(), "4");
}

TEST_F(Registration, OneThatIsThereIsCorrected) {
  PutExisting("boot-1");
  const auto registered = Register(true);
  ASSERT_TRUE(registered.ok()) << registered.status();
  EXPECT_FALSE(registered->created);
  const kube::Node node = Stored();
  const auto& labels = node.metadata().labels();
  EXPECT_EQ(labels.at("mine"), "x");
  EXPECT_EQ(labels.at("kubernetes.io/hostname"), "n1");
  EXPECT_FALSE(labels.contains("zone"));
  EXPECT_EQ(node.spec().taints_size(), 0);
  EXPECT_EQ(node.spec().provider_id(), "cloud://1");
  EXPECT_EQ(node.status().capacity().at("example.com/gpu").string(), "2")
      << "of this boot: a process has died, no machine";
  server.TakeSeen();
  ASSERT_TRUE(Register(true).ok());
  for (const auto& seen : server.TakeSeen()) EXPECT_NE(seen.method, "PATCH") << seen.body;
}

TEST_F(Registration, DevicesOfAnotherBootAreNone) {
  PutExisting("boot-0");
  ASSERT_TRUE(Register(false).ok());
  EXPECT_EQ(Stored().status().capacity().at("example.com/gpu").string(), "2")
      << "a device manager knows them";
  PutExisting("boot-0");
  ASSERT_TRUE(Register(true).ok());
  EXPECT_EQ(Stored().status().capacity().at("example.com/gpu").string(), "0");
  EXPECT_EQ(Stored().status().allocatable().at("example.com/gpu").string(), "0");
}

TEST_F(Registration, OneThatMayNotCreateTakesTheNodeThatIsThere) {
  server.Inject({.method = "POST", .code = 403});
  EXPECT_EQ(Register().status().code(), StatusCode::kNotFound);
  PutExisting("boot-1");
  const auto registered = Register();
  ASSERT_TRUE(registered.ok()) << registered.status();
  EXPECT_FALSE(registered->created);
}

TEST_F(Registration, AnErrorIsTheCallers) {
  server.Inject({.method = "POST", .times = 1, .code = 500});
  EXPECT_EQ(Register().status().code(), StatusCode::kUnavailable);
  server.Inject({.method = "POST", .times = 1, .after_effect = true});
  EXPECT_FALSE(Register().ok()) << "the answer was lost";
  const auto registered = Register();
  ASSERT_TRUE(registered.ok());
  EXPECT_FALSE(registered->created) << "the lost one is found";
}

}  // namespace
}  // namespace splitlet::status
