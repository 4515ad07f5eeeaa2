#include "services/status/api/node/node_object.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/node/machine.h"

namespace splitlet::status {
namespace {

using Texts = std::vector<std::string>;

class NodeObject : public ::testing::Test {
 protected:
  NodeObject() {
    observed.now = clock.WallNow();
    observed.system = {.machine_id = "m",
                       .system_uuid = "u",
                       .boot_id = "b",
                       .kernel_version = "6.1",
                       .os_image = "Debian"};
    observed.runtime_version = "containerd://1.7.0";
    auto& record = observed.record;
    (*record.mutable_capacity())["cpu"] = "4";
    (*record.mutable_capacity())["memory"] = "8Gi";
    (*record.mutable_allocatable())["cpu"] = "3500m";
    (*record.mutable_allocatable())["memory"] = "7Gi";
    record.add_addresses("192.0.2.1");
    for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure"}) Say(type, "False");
    Say("Ready", "True");
  }
  void Say(const std::string& type, const std::string& status) {
    for (auto& condition : *observed.record.mutable_conditions())
      if (condition.type() == type) return condition.set_status(status);
    auto& condition = *observed.record.add_conditions();
    condition.set_type(type);
    condition.set_status(status);
  }
  Texts Addresses() const {
    Texts texts;
    for (const auto& one : node.status().addresses())
      texts.push_back(one.type() + " " + one.address());
    return texts;
  }
  std::string Provided() const {
    const auto& annotations = node.metadata().annotations();
    const auto it = annotations.find(std::string(kProvidedNodeIpAnnotation));
    return it == annotations.end() ? "none" : it->second;
  }
  k8s::io::api::core::v1::NodeCondition Condition(const std::string& type) const {
    for (const auto& one : node.status().conditions())
      if (one.type() == type) return one;
    return {};
  }
  void Update() { UpdateNode(settings, observed, node); }
  std::string Of(const char* map, const std::string& name) const {
    const auto& amounts =
        map == std::string("capacity") ? node.status().capacity() : node.status().allocatable();
    const auto it = amounts.find(name);
    return it == amounts.end() ? "none" : it->second.string();
  }

  FakeClock clock;
  NodeSettings settings{.name = "n1", .port = 10250};
  NodeObservation observed;
  kube::Node node;
};

TEST_F(NodeObject, ANewOneHasWhatItRegistersWith) {
  settings.labels = {{"zone", "a"}, {"kubernetes.io/os", "mine"}};
  settings.taints = {{.key = "k", .value = "v", .effect = "NoExecute"}};
  settings.provider_id = "cloud://1";
  node = MakeInitialNode(settings, observed);
  EXPECT_EQ(node.metadata().name(), "n1");
  const auto& labels = node.metadata().labels();
  EXPECT_EQ(labels.at("kubernetes.io/hostname"), "n1");
  EXPECT_EQ(labels.at("beta.kubernetes.io/arch"), node::Architecture());
  EXPECT_EQ(labels.at("zone"), "a");
  EXPECT_EQ(labels.at("kubernetes.io/os"), "linux") << "of the machine, whatever was asked for";
  EXPECT_EQ(node.metadata().annotations().at(std::string(kAttachDetachAnnotation)), "true");
  ASSERT_EQ(node.spec().taints_size(), 1);
  EXPECT_EQ(node.spec().taints(0).effect(), "NoExecute");
  EXPECT_EQ(node.spec().provider_id(), "cloud://1");
  Texts types;
  for (const auto& one : node.status().conditions()) types.push_back(one.type());
  EXPECT_EQ(types, (Texts{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}));
  EXPECT_EQ(node.status().daemon_endpoints().kubelet_endpoint().port(), 10250);
  EXPECT_EQ(node.status().node_info().kubelet_version(), kKubeletVersion);
  EXPECT_EQ(node.status().node_info().container_runtime_version(), "containerd://1.7.0");
  settings.attach_detach = false;
  EXPECT_EQ(MakeInitialNode(settings, observed).metadata().annotations_size(), 0);
}

TEST_F(NodeObject, DevicesOfAFormerKubeletBecomeNoneAndThoseOfUsersStay) {
  for (auto* amounts :
       {node.mutable_status()->mutable_capacity(), node.mutable_status()->mutable_allocatable()})
    for (const char* name : {"nvidia.com/gpu", "example.com/dongle"})
      (*amounts)[name].set_string("8");
  (*observed.record.mutable_capacity())["nvidia.com/gpu"] = "0";
  (*observed.record.mutable_allocatable())["nvidia.com/gpu"] = "0";
  Update();
  for (const char* map : {"capacity", "allocatable"}) {
    EXPECT_EQ(Of(map, "nvidia.com/gpu"), "0") << map;
    EXPECT_EQ(Of(map, "example.com/dongle"), "8") << map;
  }
}

/// With `ExtendWebSocketsToKubelet` in it API servers would send what node-api does not translate.
TEST_F(NodeObject, DeclaresNoStreamsByWebSocket) {
  node.mutable_status()->add_declared_features("ExtendWebSocketsToKubelet");
  Update();
  ASSERT_EQ(node.status().declared_features_size(), 1);
  EXPECT_EQ(node.status().declared_features(0), "RestartAllContainersOnContainerExits");
  settings.declared_features.clear();
  Update();
  EXPECT_EQ(node.status().declared_features_size(), 0);
}

TEST_F(NodeObject, OfAnExternalCloudIsNotInitializedYet) {
  settings.external_cloud = true;
  node = MakeInitialNode(settings, observed);
  ASSERT_EQ(node.spec().taints_size(), 1);
  EXPECT_EQ(node.spec().taints(0).key(), kExternalCloudTaint);
  EXPECT_EQ(node.spec().taints(0).value(), "true");
  EXPECT_EQ(node.spec().taints(0).effect(), "NoSchedule");
}

TEST_F(NodeObject, Addresses) {
  const Texts old = {"ExternalIP 203.0.113.1"};
  const struct {
    const char* name;
    bool external, has_old;
    Texts node_ips, found, want;
    const char* provided;
  } kCases[] = {
      {"the one that was found",
       false,
       true,
       {},
       {"192.0.2.1"},
       {"InternalIP 192.0.2.1", "Hostname n1"},
       "none"},
      {"one of each family",
       false,
       false,
       {"192.0.2.1", "2001:db8::1"},
       {"192.0.2.1", "2001:db8::1"},
       {"InternalIP 192.0.2.1", "InternalIP 2001:db8::1", "Hostname n1"},
       "none"},
      {"not found: the old ones stay", false, true, {"192.0.2.1"}, {}, old, "none"},
      {"a cloud without an address given: the name alone",
       true,
       false,
       {},
       {"192.0.2.1"},
       {"Hostname n1"},
       "none"},
      {"a cloud has given addresses", true, true, {}, {"192.0.2.1"}, old, "none"},
      {"the annotation has the addresses of --node-ip",
       true,
       true,
       {"192.0.2.1", "2001:db8::1"},
       {"192.0.2.1", "2001:db8::1"},
       old,
       "192.0.2.1,2001:db8::1"},
      {"addresses for a cloud to begin with",
       true,
       false,
       {"192.0.2.1"},
       {"192.0.2.1"},
       {"InternalIP 192.0.2.1", "Hostname n1"},
       "192.0.2.1"},
      {"any address will do until a cloud gives some",
       true,
       false,
       {"0.0.0.0"},
       {"192.0.2.1"},
       {"InternalIP 192.0.2.1", "Hostname n1"},
       "none"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    node.Clear();
    (*node.mutable_metadata()->mutable_annotations())[std::string(kProvidedNodeIpAnnotation)] = "x";
    if (c.has_old) {
      node.mutable_status()->add_addresses()->set_type("ExternalIP");
      node.mutable_status()->mutable_addresses(0)->set_address("203.0.113.1");
    }
    settings.external_cloud = c.external;
    settings.node_ips = c.node_ips;
    observed.record.mutable_addresses()->Assign(c.found.begin(), c.found.end());
    Update();
    EXPECT_EQ(Addresses(), c.want);
    EXPECT_EQ(Provided(), c.provided);
  }
}

TEST_F(NodeObject, ResourcesOfOthersStay) {
  (*node.mutable_status()->mutable_capacity())["example.com/dongle"].set_string("3");
  (*node.mutable_status()->mutable_allocatable())["example.com/gone"].set_string("1");
  Update();
  EXPECT_EQ(Of("capacity", "cpu"), "4");
  EXPECT_EQ(Of("allocatable", "cpu"), "3500m");
  EXPECT_EQ(Of("capacity", "example.com/dongle"), "3");
  EXPECT_EQ(Of("allocatable", "example.com/dongle"), "3");
  EXPECT_EQ(Of("allocatable", "example.com/gone"), "none");
}

TEST_F(NodeObject, VolumesInUseStayForTheBootThatToldThem) {
  const struct {
    const char *reported_by, *now;
    int want;
  } kBoots[] = {
      {"b", "b", 2},  // of a kubelet before this program: they may be mounted
      {"a", "b", 0},
      {"", "b", 2},  // of another client
      {"a", "", 2},
  };
  for (const auto& c : kBoots) {
    auto& status = *node.mutable_status();
    status.mutable_node_info()->set_boot_id(c.reported_by);
    status.clear_volumes_in_use();
    for (const char* name : {"kubernetes.io/csi/a^1", "kubernetes.io/csi/a^2"})
      status.add_volumes_in_use(name);
    observed.system.boot_id = c.now;
    Update();
    EXPECT_EQ(node.status().volumes_in_use_size(), c.want) << c.reported_by << " " << c.now;
  }
}

TEST_F(NodeObject, VolumesInUseArePodWorkersOnceItKnowsThem) {
  auto& status = *node.mutable_status();
  status.mutable_node_info()->set_boot_id("a");
  observed.system.boot_id = "b";
  status.add_volumes_in_use("kubernetes.io/csi/a^1");
  observed.volumes_in_use = {"kubernetes.io/csi/a^2", "kubernetes.io/csi/a^3"};
  Update();
  ASSERT_EQ(node.status().volumes_in_use_size(), 2);
  EXPECT_EQ(node.status().volumes_in_use(0), "kubernetes.io/csi/a^2");
  observed.volumes_in_use.emplace();
  Update();
  EXPECT_EQ(node.status().volumes_in_use_size(), 0);
}

TEST_F(NodeObject, ShowsTheLargestImagesWithFiveNames) {
  observed.images.emplace();
  for (uint64_t i = 1; i <= 60; ++i)
    observed.images->push_back({.digests = {"a@1", "a@2", "a@3", "a@4"},
                                .tags = {"t" + std::to_string(i), "x", "y"},
                                .size_bytes = i});
  Update();
  ASSERT_EQ(node.status().images_size(), 50);
  EXPECT_EQ(node.status().images(0).size_bytes(), 60);
  ASSERT_EQ(node.status().images(0).names_size(), 5);
  EXPECT_EQ(node.status().images(0).names(4), "t60");
  settings.max_images = -1;
  Update();
  EXPECT_EQ(node.status().images_size(), 60);
  observed.images.reset();
  Update();
  EXPECT_EQ(node.status().images_size(), 60) << "not known is not gone";
}

TEST_F(NodeObject, AConditionMovesWhenItsStatusDoesAndNeverBack) {
  Update();
  const int64_t first = Condition("Ready").last_transition_time().seconds();
  EXPECT_EQ(first, ToNanos(clock.WallNow()) / 1'000'000'000);
  clock.Advance(10s);
  observed.now = clock.WallNow();
  Update();
  EXPECT_EQ(Condition("Ready").last_transition_time().seconds(), first);
  EXPECT_EQ(Condition("Ready").last_heartbeat_time().seconds(), first + 10);
  clock.Advance(10s);
  observed.now = clock.WallNow();
  Say("Ready", "False");
  Update();
  EXPECT_EQ(Condition("Ready").last_transition_time().seconds(), first + 20);
  observed.now = clock.WallNow() - 1h;
  Say("Ready", "True");
  Update();
  EXPECT_EQ(Condition("Ready").last_transition_time().seconds(), first + 20) << "a clock set back";
}

TEST_F(NodeObject, WhatIsNotKnownChangesNothing) {
  Say("MemoryPressure", "True");
  Update();
  Say("MemoryPressure", "Unknown");
  Say("Ready", "False");
  observed.readiness_unknown = true;
  observed.runtime_version.clear();
  Update();
  EXPECT_EQ(Condition("MemoryPressure").status(), "True");
  EXPECT_EQ(Condition("Ready").status(), "True");
  EXPECT_EQ(node.status().node_info().container_runtime_version(), "containerd://1.7.0");
  observed.readiness_unknown = false;
  Update();
  EXPECT_EQ(Condition("Ready").status(), "False");
}

TEST_F(NodeObject, ConditionsOfOthersStay) {
  node.mutable_status()->add_conditions()->set_type("NetworkUnavailable");
  Update();
  EXPECT_EQ(node.status().conditions(0).type(), "NetworkUnavailable");
  EXPECT_EQ(node.status().conditions_size(), 5);
}

TEST_F(NodeObject, HandlersAndFeaturesOnceTheRuntimeHasSaidThem) {
  Update();
  EXPECT_FALSE(node.status().has_features());
  auto& features = *observed.record.mutable_features();
  features.set_known(true);
  features.set_supplemental_groups_policy(true);
  features.add_handlers()->set_name("runc");
  features.add_handlers()->set_user_namespaces(true);
  Update();
  EXPECT_TRUE(node.status().features().supplemental_groups_policy());
  ASSERT_EQ(node.status().runtime_handlers_size(), 2);
  EXPECT_EQ(node.status().runtime_handlers(0).name(), "");
  EXPECT_TRUE(node.status().runtime_handlers(0).features().user_namespaces());
  EXPECT_EQ(node.status().runtime_handlers(1).name(), "runc");
}

class Reconciled : public NodeObject {
 protected:
  Reconciled() {
    settings.labels = {{"zone", "a"}};
    (*observed.record.mutable_capacity())["hugepages-1Gi"] = "2Gi";
    (*observed.record.mutable_allocatable())["hugepages-1Gi"] = "2Gi";
    initial = MakeInitialNode(settings, observed);
    auto& labels = *node.mutable_metadata()->mutable_labels();
    labels["kubernetes.io/hostname"] = "other";
    labels["mine"] = "x";
    node.mutable_spec()->add_taints()->set_key("kept");
  }
  kube::Node initial;
};

TEST_F(Reconciled, DefaultLabelsAreCorrectedAndOthersLeft) {
  ReconcileNode(initial, false, node);
  const auto& labels = node.metadata().labels();
  EXPECT_EQ(labels.at("kubernetes.io/hostname"), "n1");
  EXPECT_EQ(labels.at("mine"), "x");
  EXPECT_FALSE(labels.contains("zone")) << "only at creation";
  EXPECT_EQ(node.spec().taints(0).key(), "kept");
  EXPECT_EQ(node.metadata().annotations().at(std::string(kAttachDetachAnnotation)), "true");
  initial.mutable_metadata()->clear_annotations();
  (*initial.mutable_metadata()->mutable_labels())["kubernetes.io/arch"] = "";
  ReconcileNode(initial, false, node);
  EXPECT_EQ(node.metadata().annotations_size(), 0);
  EXPECT_FALSE(labels.contains("kubernetes.io/arch"));
}

TEST_F(Reconciled, AmountsThatAreMissingAreThere) {
  ReconcileNode(initial, false, node);
  EXPECT_EQ(Of("capacity", "memory"), "8Gi");
  EXPECT_EQ(Of("allocatable", "cpu"), "3500m");
}

TEST_F(Reconciled, HugePagesAreTheMachinesAndDevicesMayBeReset) {
  for (auto* amounts :
       {node.mutable_status()->mutable_capacity(), node.mutable_status()->mutable_allocatable()}) {
    (*amounts)["cpu"].set_string("1");
    (*amounts)["hugepages-2Mi"].set_string("4Mi");
    (*amounts)["example.com/gpu"].set_string("2");
  }
  ReconcileNode(initial, false, node);
  for (const char* map : {"capacity", "allocatable"}) {
    EXPECT_EQ(Of(map, "cpu"), "1") << "the next report says it";
    EXPECT_EQ(Of(map, "hugepages-2Mi"), "none");
    EXPECT_EQ(Of(map, "hugepages-1Gi"), "2Gi");
    EXPECT_EQ(Of(map, "example.com/gpu"), "2");
  }
  ReconcileNode(initial, true, node);
  EXPECT_EQ(Of("capacity", "example.com/gpu"), "0");
  EXPECT_EQ(Of("allocatable", "example.com/gpu"), "0");
}

}  // namespace
}  // namespace splitlet::status
