// The content of the CSINode and the Node object for the drivers of a node.

#include "libs/csi/csi_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csi/v1/csi.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/csi/node_object.h"

namespace splitlet::csi {
namespace {

constexpr const char* kSevenPlugins =
    "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder,"
    "kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume";

::csi::v1::NodeGetInfoResponse Response(const std::string& id, int64_t max) {
  ::csi::v1::NodeGetInfoResponse response;
  response.set_node_id(id);
  response.set_max_volumes_per_node(max);
  return response;
}

TEST(CsiNodeInfo, IsReadAndChecked) {
  auto response = Response("i-1", 5);
  auto& segments = *response.mutable_accessible_topology()->mutable_segments();
  segments["example.com/zone"] = "a";
  const auto info = ReadNodeInfo(response);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(*info, (NodeInfo{"i-1", 5, {{"example.com/zone", "a"}}}));
  segments["example.com/zone"] = "not a label";
  EXPECT_EQ(ReadNodeInfo(response).status().code(), StatusCode::kInvalidArgument);
  segments.clear();
  segments["a b"] = "x";
  EXPECT_FALSE(ReadNodeInfo(response).ok());
  segments.clear();
  for (int i = 0; i < 65; ++i) segments["example.com/" + std::to_string(i)] = "x";
  EXPECT_FALSE(ReadNodeInfo(response).ok());
  EXPECT_EQ(Message(ReadNodeInfo(Response("", 0)).status()),
            "error adding CSI driver node info: driverNodeID must not be empty");
  EXPECT_FALSE(ReadNodeInfo(Response(std::string(4097, 'x'), 0)).ok());
}

TEST(CsiNodeInfo, TheLimitIsCappedAndMayBeAbsent) {
  EXPECT_EQ(AllocatableCount(0), std::nullopt);
  EXPECT_EQ(AllocatableCount(-1), std::nullopt);
  EXPECT_EQ(AllocatableCount(7), 7);
  EXPECT_EQ(AllocatableCount(5'000'000'000), 2147483647);
}

TEST(CsiNodeContent, IsMadeForItsNode) {
  const CsiNodeObject object = MakeCsiNode("node-1", "uid-1");
  EXPECT_EQ(object.metadata().name(), "node-1");
  ASSERT_EQ(object.metadata().owner_references().size(), 1);
  const auto& owner = object.metadata().owner_references(0);
  EXPECT_EQ(owner.api_version(), "v1");
  EXPECT_EQ(owner.kind(), "Node");
  EXPECT_EQ(owner.name(), "node-1");
  EXPECT_EQ(owner.uid(), "uid-1");
  EXPECT_FALSE(owner.has_controller());
  EXPECT_EQ(object.metadata().annotations().at(kMigratedPluginsAnnotation), kSevenPlugins);
  EXPECT_TRUE(object.spec().drivers().empty());
  EXPECT_TRUE(IsOwnedBy(object, "uid-1"));
  EXPECT_FALSE(IsOwnedBy(object, "uid-2"));
  EXPECT_EQ(OtherOwnerText(object, "uid-2"),
            "CSINode \"node-1\" was owned by different node (oldNodeID=\"uid-1\", "
            "newNodeID=\"uid-2\"), deleted it");
}

TEST(CsiNodeContent, AnEntryReplacesThatOfItsDriverAndLeavesOthers) {
  CsiNodeObject object = MakeCsiNode("node-1", "uid-1");
  EXPECT_TRUE(SetDriver(object, "a", {"id-a", 0, {}}));
  EXPECT_TRUE(SetDriver(object, "b", {"id-b", 3, {{"z/zone", "1"}, {"a/region", "2"}}}));
  EXPECT_FALSE(SetDriver(object, "b", {"id-b", 3, {{"a/region", "9"}, {"z/zone", "1"}}}));
  EXPECT_TRUE(SetDriver(object, "a", {"id-a", -1, {{"k", "v"}}}));
  EXPECT_FALSE(SetDriver(object, "a", {"id-a", 0, {{"k", "v"}}}));
  ASSERT_EQ(object.spec().drivers().size(), 2);
  const auto& b = object.spec().drivers(0);
  EXPECT_EQ(b.name(), "b");
  EXPECT_EQ(b.node_id(), "id-b");
  EXPECT_THAT(b.topology_keys(), testing::ElementsAre("a/region", "z/zone"));
  EXPECT_EQ(b.allocatable().count(), 3);
  EXPECT_EQ(object.spec().drivers(1).name(), "a");
  EXPECT_FALSE(object.spec().drivers(1).has_allocatable());
  EXPECT_TRUE(SetDriver(object, "b", {"id-b", 4, {{"a/region", "2"}, {"z/zone", "1"}}}));
  EXPECT_TRUE(RemoveDriver(object, "b"));
  EXPECT_FALSE(RemoveDriver(object, "b"));
  EXPECT_EQ(object.spec().drivers().size(), 1);
}

TEST(CsiNodeContent, TheAnnotationIsWrittenOnlyIfItsSetDiffers) {
  const struct {
    const char* name;
    std::string before;
    bool changes;
  } kCases[] = {
      {"equal", kSevenPlugins, false},
      {"another order",
       "kubernetes.io/vsphere-volume,kubernetes.io/portworx-volume,kubernetes.io/gce-pd,"
       "kubernetes.io/cinder,kubernetes.io/azure-file,kubernetes.io/azure-disk,"
       "kubernetes.io/aws-ebs",
       false},
      {"one is missing", "kubernetes.io/aws-ebs", true},
      {"one more", std::string(kSevenPlugins) + ",example.com/x", true},
      {"empty", "", true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    CsiNodeObject object;
    auto& annotations = *object.mutable_metadata()->mutable_annotations();
    annotations[kMigratedPluginsAnnotation] = c.before;
    EXPECT_EQ(SetMigratedPlugins(object), c.changes);
    EXPECT_EQ(annotations[kMigratedPluginsAnnotation], c.changes ? kSevenPlugins : c.before);
  }
}

TEST(CsiInNode, TheAnnotationGainsAndLosesDrivers) {
  const auto one = AddNodeId("", "b", "id-b");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(*one, R"({"b":"id-b"})");
  const auto two = AddNodeId(*one, "a", "id<a>");
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(*two, R"({"a":"id\u003ca\u003e","b":"id-b"})");
  EXPECT_EQ(*AddNodeId(R"({"b": "id-b"})", "b", "id-b"), R"({"b": "id-b"})") << "left as it is";
  EXPECT_EQ(*AddNodeId(*one, "b", "other"), R"({"b":"other"})");
  EXPECT_EQ(*RemoveNodeId(*two, "b"), R"({"a":"id\u003ca\u003e"})");
  EXPECT_EQ(*RemoveNodeId(*one, "c"), *one);
  EXPECT_EQ(*RemoveNodeId(*one, "b"), std::nullopt);
  EXPECT_EQ(*RemoveNodeId("", "b"), std::nullopt);
  const Status broken = AddNodeId("{x", "b", "id").status();
  EXPECT_TRUE(Message(broken).starts_with(
      "failed to parse node's \"csi.volume.kubernetes.io/nodeid\" annotation value (\"{x\") err="))
      << broken;
  EXPECT_FALSE(RemoveNodeId("{x", "b").ok());
}

TEST(CsiInNode, OnlyMissingLabelsAreAddedAndAnotherValueIsACollision) {
  const StringMap labels{{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(*MissingTopologyLabels(labels, {{"a", "1"}, {"c", "3"}}), (StringMap{{"c", "3"}}));
  EXPECT_EQ(Message(MissingTopologyLabels(labels, {{"b", "9"}, {"c", "3"}}).status()),
            "detected topology value collision: driver reported \"b\":\"9\" but existing label is "
            "\"b\":\"2\"");
}

}  // namespace
}  // namespace splitlet::csi
