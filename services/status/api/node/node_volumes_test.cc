#include "services/status/api/node/node_volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/status/cluster_fixture.h"

namespace splitlet::status {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kVolumeA = "kubernetes.io/csi/disk^a";
constexpr const char* kVolumeB = "kubernetes.io/csi/disk^b";

class NodeVolumes : public ClusterTest {
 protected:
  void StartReady() {
    Start();
    all.Advance(3s);
    ASSERT_EQ(ServerCondition("Ready").status(), "True");
  }
  void Use(const std::vector<std::string>& volumes, bool known = true) {
    v1::WorkerRecord record;
    record.mutable_node()->set_volumes_known(known);
    for (const auto& name : volumes) record.mutable_node()->add_volumes_in_use(name);
    ASSERT_TRUE(workers->rows.Put("node", record).ok());
  }
  void PutNode(const std::string& status) {
    server.PutJson(kTestNode, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"},
      "status":{"nodeInfo":{"bootID":"boot-1"},)" +
                                  status + "}}");
  }
  std::vector<std::string> AtServer() const {
    const kube::Node node = ServerNode();
    return {node.status().volumes_in_use().begin(), node.status().volumes_in_use().end()};
  }
  std::vector<std::string> Reported() {
    const v1::NodeRecord record = Record();
    return {record.volumes_in_use().begin(), record.volumes_in_use().end()};
  }
};

TEST(VolumesInUse, IsSortedAndUniqueOnceTheVolumesAreKnown) {
  v1::WorkerRecord record;
  for (const char* name : {"b", "a", "b"}) record.mutable_node()->add_volumes_in_use(name);
  EXPECT_EQ(VolumesInUse(nullptr), std::nullopt);
  EXPECT_EQ(VolumesInUse(&record), std::nullopt);
  record.mutable_node()->set_volumes_known(true);
  EXPECT_THAT(*VolumesInUse(&record), ElementsAre("a", "b"));
  record.mutable_node()->clear_volumes_in_use();
  EXPECT_THAT(*VolumesInUse(&record), IsEmpty());
}

TEST_F(NodeVolumes, VolumesAreReportedWithinATenthOfASecond) {
  StartReady();
  all.Advance(1min);
  server.TakeSeen();
  Use({kVolumeB, kVolumeA, kVolumeB});
  all.Advance(100ms);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA, kVolumeB));
  EXPECT_THAT(Reported(), ElementsAre(kVolumeA, kVolumeB));
  Use({kVolumeB});
  all.Advance(200ms);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeB));
  EXPECT_THAT(Reported(), ElementsAre(kVolumeB));
  Use({});
  all.Advance(200ms);
  EXPECT_THAT(AtServer(), IsEmpty());
  EXPECT_EQ(Asked("PATCH", kTestNode), 3U);
}

TEST_F(NodeVolumes, ChangesOfOneMomentAreOneReport) {
  StartReady();
  all.Advance(1min);
  server.TakeSeen();
  Use({kVolumeA});
  all.Advance(5ms);
  Use({kVolumeA, kVolumeB});
  all.Advance(100ms);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA, kVolumeB));
  EXPECT_EQ(Asked("PATCH", kTestNode), 1U);
}

TEST_F(NodeVolumes, AVolumeDoesNotWaitForASlowerReport) {
  StartReady();
  all.Advance(1min);
  answers.runtime_down = true;
  while (ServerCondition("Ready").status() == "True") all.Advance(100ms);
  answers.runtime_down = false;  // reported a second later at the earliest
  Use({kVolumeA});
  all.Advance(200ms);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA));
}

TEST_F(NodeVolumes, UntilTheVolumesAreKnownTheListStands) {
  PutNode(R"("volumesInUse":["kubernetes.io/csi/disk^a"])");
  Use({}, false);
  StartReady();
  all.Advance(10min);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA));
  Use({kVolumeB}, false);
  all.Advance(1min);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA));
  Use({kVolumeB});
  all.Advance(1s);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeB));
}

TEST_F(NodeVolumes, ARestartWithoutPodWorkerKeepsTheList) {
  Use({kVolumeA});
  StartReady();
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA));
  Crash();
  workers->rows.Remove("node");
  Start();
  all.Advance(10min);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA));
  EXPECT_THAT(Reported(), ElementsAre(kVolumeA));
}

TEST_F(NodeVolumes, ARestartWhileTheServerIsAwayKeepsTheList) {
  Use({kVolumeA});
  StartReady();
  Crash();
  server.SetAway(true);
  Use({kVolumeA, kVolumeB});
  Start();
  all.Advance(10min);
  EXPECT_THAT(Reported(), IsEmpty()) << "the server has not taken it";
  EXPECT_FALSE(Record().registered());
  server.SetAway(false);
  all.Advance(30s);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA, kVolumeB));
  EXPECT_THAT(Reported(), ElementsAre(kVolumeA, kVolumeB));
}

TEST_F(NodeVolumes, AVolumeThatTheServerDoesNotTakeIsNotReported) {
  StartReady();
  server.Inject({.method = "PATCH", .prefix = kTestNode, .code = 500});
  Use({kVolumeA});
  all.Advance(1min);
  EXPECT_THAT(Reported(), IsEmpty());
  server.ClearFaults();
  all.Advance(11s);
  EXPECT_THAT(Reported(), ElementsAre(kVolumeA));
}

/// A watch of an API server that is behind shows a list that an earlier start has shortened.
TEST_F(NodeVolumes, AnOldVersionOfTheNodeProvesNothing) {
  config.register_node = false;
  PutNode(R"("volumesInUse":["kubernetes.io/csi/disk^a"])");
  fake_api::FakeApiServer behind{clock};
  kube::Node node = ServerNode();
  behind.Put(kTestNode, node);
  node.mutable_status()->clear_volumes_in_use();
  server.Put(kTestNode, node);
  Use({kVolumeA});
  behind.Inject({.method = "PATCH", .prefix = kTestNode, .code = 500});
  node_way.instead = &behind;
  std::set<std::string> reported;
  podstatus->OnChange([&](const auto& change) {
    if (change.key != "node" || change.after == nullptr) return;
    for (const auto& name : change.after->node().volumes_in_use()) reported.insert(name);
  });
  behind.Inject({.method = "GET", .prefix = kTestNode, .code = 500});
  Start();
  all.Advance(30s);
  EXPECT_TRUE(Record().registered()) << "its watch shows the Node";
  EXPECT_THAT(reported, IsEmpty());
  node_way.instead = nullptr;
  behind.EndWatches();
  all.Advance(30s);
  EXPECT_THAT(AtServer(), ElementsAre(kVolumeA));
  EXPECT_THAT(Reported(), ElementsAre(kVolumeA));
  podstatus->OnChange([](const auto&) {});
  Crash();
}

TEST_F(NodeVolumes, AttachedVolumesFollowTheNode) {
  StartReady();
  const auto attach = [&](const std::vector<std::string>& volumes) {
    kube::Node node = ServerNode();
    node.mutable_status()->clear_volumes_attached();
    for (const auto& name : volumes) {
      auto& volume = *node.mutable_status()->add_volumes_attached();
      volume.set_name(name);
      volume.set_device_path("/dev/" + name.substr(name.size() - 1));
    }
    server.Put(kTestNode, node);
    all.Advance(100ms);
    std::vector<std::string> shown;
    const v1::NodeRecord record = Record();
    for (const auto& volume : record.volumes_attached())
      shown.push_back(volume.name() + " " + volume.device_path());
    return shown;
  };
  EXPECT_THAT(attach({kVolumeB, kVolumeA}),
              ElementsAre(std::string(kVolumeA) + " /dev/a", std::string(kVolumeB) + " /dev/b"));
  EXPECT_THAT(attach({kVolumeB}), ElementsAre(std::string(kVolumeB) + " /dev/b"));
  all.Advance(10min);
  EXPECT_EQ(ServerNode().status().volumes_attached_size(), 1) << "a report leaves them";
  EXPECT_THAT(attach({}), IsEmpty());
}

}  // namespace
}  // namespace splitlet::status
