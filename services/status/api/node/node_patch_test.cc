#include "services/status/api/node/node_patch.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::status {
namespace {

kube::Node Parsed(const std::string& json) {
  kube::Node node;
  const auto read = kube::DecodeInto(json, "node", kube::Strictness::kStrict, node);
  EXPECT_TRUE(read.ok()) << read.status();
  return node;
}

const struct {
  const char *name, *before, *after, *patch;
  bool changed;
} kPatchCases[] = {
    {"the same is no patch", R"({"status":{"capacity":{"cpu":"4"}}})",
     R"({"status":{"capacity":{"cpu":"4"}}})", "", false},
    {"what is empty is not there", R"({"status":{"nodeInfo":{"kubeProxyVersion":""},"images":[]}})",
     R"({"status":{}})", "", false},
    {"an amount changes, another goes",
     R"({"status":{"capacity":{"cpu":"4","hugepages-2Mi":"0","memory":"1Gi"}}})",
     R"({"status":{"capacity":{"cpu":"8","memory":"1Gi"}}})",
     R"({"status":{"capacity":{"cpu":"8","hugepages-2Mi":null}}})", true},
    {"what is new is whole", R"({})",
     R"({"status":{"features":{"supplementalGroupsPolicy":true}}})",
     R"({"status":{"features":{"supplementalGroupsPolicy":true}}})", true},
    {"lists are replaced", R"({"status":{"volumesInUse":["a","b"]}})",
     R"({"status":{"volumesInUse":["b"]}})", R"({"status":{"volumesInUse":["b"]}})", true},
    {"first addresses are a list", R"({})",
     R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}})",
     R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}})", true},
    {"other addresses replace them all",
     R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}})",
     R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"},)"
     R"({"type":"InternalIP","address":"2001:db8::1"}]}})",
     R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"},)"
     R"({"type":"InternalIP","address":"2001:db8::1"},{"$patch":"replace"}]}})",
     true},
    {"a heartbeat alone is no change",
     R"({"status":{"conditions":[{"type":"Ready","status":"True",)"
     R"("lastHeartbeatTime":"2026-01-01T00:00:00Z"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"True",)"
     R"("lastHeartbeatTime":"2026-01-01T00:00:10Z"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"True",)"
     R"("lastHeartbeatTime":"2026-01-01T00:00:10Z"}]}})",
     false},
    {"a condition changes, and others stay out of it",
     R"({"status":{"conditions":[{"type":"NetworkUnavailable","status":"False"},)"
     R"({"type":"Ready","status":"True","reason":"r"}]}})",
     R"({"status":{"conditions":[{"type":"NetworkUnavailable","status":"False"},)"
     R"({"type":"Ready","status":"False","reason":"r"}]}})",
     R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"r"}]}})", true},
    {"labels and annotations change and go, the spec does not",
     R"({"metadata":{"labels":{"a":"1","b":"2"},"annotations":{"c":"3"}},"spec":{"podCIDR":"x"}})",
     R"({"metadata":{"labels":{"a":"1","b":"3"}},"spec":{"podCIDR":"y"}})",
     R"({"metadata":{"labels":{"b":"3"},"annotations":{"c":null}}})", true},
};

TEST(MakeNodePatch, SaysWhatDiffers) {
  for (const auto& c : kPatchCases) {
    SCOPED_TRACE(c.name);
    const NodePatch patch = MakeNodePatch(Parsed(c.before), Parsed(c.after));
    EXPECT_EQ(patch.json, c.patch);
    EXPECT_EQ(patch.changed, c.changed);
  }
}

}  // namespace
}  // namespace splitlet::status
