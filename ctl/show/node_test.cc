#include "ctl/show/node.h"

#include <gtest/gtest.h>

#include "ctl/show/objects.h"
#include "ctl/test_time.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

const NodeFacts kFacts{.system = {.machine_id = "m1",
                                  .system_uuid = "u1",
                                  .boot_id = "b1",
                                  .kernel_version = "6.1.0",
                                  .os_image = "Debian GNU/Linux 12 (bookworm)"},
                       .architecture = "amd64",
                       .runtime_version = "containerd://1.6.20"};

v1::NodeRecord SomeNode(const std::string& ready) {
  v1::NodeRecord record;
  record.set_name("n1");
  (*record.mutable_labels())["kubernetes.io/hostname"] = "n1";
  (*record.mutable_labels())["node-role.kubernetes.io/worker"] = "";
  (*record.mutable_capacity())["cpu"] = "4";
  (*record.mutable_capacity())["memory"] = "8Gi";
  (*record.mutable_allocatable())["cpu"] = "2";
  (*record.mutable_allocatable())["memory"] = "4Gi";
  record.add_addresses("10.0.0.7");
  auto& condition = *record.add_conditions();
  condition.set_type("Ready");
  condition.set_status(ready);
  condition.set_reason("KubeletReady");
  condition.set_message("kubelet is posting ready status");
  condition.set_since_wall_ns(ToNanos(kNow - 5min));
  return record;
}

void AddTaint(v1::NodeRecord& record, const std::string& key, const std::string& effect) {
  record.add_taints()->set_key(key);
  record.mutable_taints(record.taints_size() - 1)->set_effect(effect);
}

operate::PodView PodOf(const std::string& name, const std::string& phase) {
  operate::PodView view{.uid = "u-" + name, .name = name, .name_space = "default"};
  view.pod = std::make_shared<kube::Pod>();
  const std::string text =
      R"({"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"},
          "limits": {"cpu": "1"}}}]}, "status": {"phase": ")" +
      phase + "\"}}";
  EXPECT_TRUE(kube::DecodeInto(text, "pod", kube::Strictness::kStrict, *view.pod).ok());
  view.has_status = true;
  view.seen_at_wall_ns = ToNanos(kNow - 5min);
  return view;
}

TEST(Nodes, HaveTheColumnsOfKubectl) {
  EXPECT_EQ(NodeTable(*MakeNode(SomeNode("True"), kFacts), kNow, {}),
            "NAME   STATUS   ROLES    AGE         VERSION\n"
            "n1     Ready    worker   <unknown>   v1.36.0\n");
  const auto wide =
      NodeTable(*MakeNode(SomeNode("Unknown"), kFacts), kNow, {.wide = true, .header = false});
  EXPECT_EQ(wide,
            "n1     NotReady   worker   <unknown>   v1.36.0   10.0.0.7      <none>        Debian "
            "GNU/Linux 12 (bookworm)   6.1.0            containerd://1.6.20\n");
}

TEST(Nodes, OneThatTakesNoPodsSaysSo) {
  v1::NodeRecord record = SomeNode("True");
  AddTaint(record, "node.kubernetes.io/unschedulable", "NoSchedule");
  const std::string table = NodeTable(*MakeNode(record, kFacts), kNow, {});
  EXPECT_NE(table.find("Ready,SchedulingDisabled"), std::string::npos) << table;
}

TEST(Nodes, AreObjectsOfTheApi) {
  const auto node = MakeNode(SomeNode("True"), kFacts);
  kube::Node read;
  const auto decoded =
      kube::DecodeInto(ObjectJson({"Node", *node}), "out", kube::Strictness::kLenient, read);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(read.status().node_info().os_image(), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(read.status().allocatable().at("memory").string(), "4Gi");
  EXPECT_EQ(read.status().addresses(1).type(), "Hostname");
}

TEST(Nodes, AreDescribedAsKubectlDoes) {
  auto event = std::make_shared<v1::EventRecord>();
  event->set_type("Normal");
  event->set_reason("NodeReady");
  event->set_message("Node n1 status is now: NodeReady");
  event->set_component("kubelet");
  event->set_last_wall_ns(ToNanos(kNow - 30s));
  const std::string text =
      DescribeNode(*MakeNode(SomeNode("True"), kFacts),
                   {PodOf("web", "Running"), PodOf("ended", "Succeeded"), PodOf("db", "Pending")},
                   {event}, kNow);
  for (const char* part :
       {"Name:                n1\n", "Roles:               worker\n",
        "Taints:              <none>\n", "Unschedulable:       false\n",
        "Ready   True     2026-11-21T11:55:00Z   KubeletReady", "  InternalIP:        10.0.0.7\n",
        "Allocatable:\n  cpu:               2\n",
        "  OS Image:                  Debian GNU/Linux 12 (bookworm)\n",
        "  Container Runtime Version: containerd://1.6.20\n", "Non-terminated Pods: (2 in total)\n",
        "default     web    500m (25%)     1 (50%)      1Gi (25%)         0 (0%)          5m\n",
        "cpu                 1 (50%)     2 (100%)\n", "Normal   NodeReady   30s"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  EXPECT_EQ(text.find("ended"), std::string::npos) << "what has ended takes nothing";
}

}  // namespace
}  // namespace splitlet::ctl
