#include "services/status/api/csi/csi_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/csi/csi_node.h"
#include "libs/csi/node_object.h"
#include "services/status/cluster_fixture.h"

namespace splitlet::status {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTestCsiNode = "/apis/storage.k8s.io/v1/csinodes/node-a";
constexpr const char* kNotInitialised = "CSINode is not yet initialized";

v1::CsiDriver MakeDriver(const std::string& name, const std::string& node_id = "i-1",
                         int64_t registration = 1) {
  v1::CsiDriver driver;
  driver.set_name(name);
  driver.set_node_id(node_id);
  driver.set_registration(registration);
  return driver;
}

v1::CsiDriver DiskDriver(int64_t max_volumes = 8) {
  v1::CsiDriver driver = MakeDriver("disk.csi.example.com");
  driver.set_max_volumes(max_volumes);
  (*driver.mutable_topology())["topology.example.com/zone"] = "z1";
  (*driver.mutable_topology())["topology.example.com/rack"] = "r1";
  return driver;
}

class CsiSyncTest : public ClusterTest {
 protected:
  void StartReady() {
    Start();
    all.Advance(3s);
    ASSERT_EQ(ServerCondition("Ready").status(), "True");
    server.TakeSeen();
  }
  void Report(const std::vector<v1::CsiDriver>& drivers) {
    v1::WorkerRecord record;
    for (const auto& driver : drivers) *record.mutable_node()->add_csi_drivers() = driver;
    ASSERT_TRUE(workers->rows.Put("node", record).ok());
    all.Advance(1s);
  }
  csi::CsiNodeObject CsiNode() const {
    csi::CsiNodeObject found;
    EXPECT_TRUE(server.Get(kTestCsiNode, found));
    return found;
  }
  std::string OwnerUid() const {
    const auto object = CsiNode();
    EXPECT_EQ(object.metadata().owner_references_size(), 1);
    return object.metadata().owner_references(0).uid();
  }
  /// "name id [keys] count", for each entry.
  std::vector<std::string> Entries() const {
    std::vector<std::string> texts;
    const auto object = CsiNode();
    for (const auto& entry : object.spec().drivers())
      texts.push_back(fmt::format(
          "{} {} [{}] {}", entry.name(), entry.node_id(), fmt::join(entry.topology_keys(), " "),
          entry.allocatable().has_count() ? std::to_string(entry.allocatable().count()) : "-"));
    return texts;
  }
  std::string Annotation() const {
    const kube::Node node = ServerNode();
    const auto found = node.metadata().annotations().find(csi::kNodeIdAnnotation);
    return found == node.metadata().annotations().end() ? "" : found->second;
  }
  std::string Label(const std::string& key) const {
    const kube::Node node = ServerNode();
    const auto found = node.metadata().labels().find(key);
    return found == node.metadata().labels().end() ? "" : found->second;
  }
  /// "name registration", or with ": error" after it.
  std::vector<std::string> Outcomes() {
    std::vector<std::string> texts;
    const v1::NodeRecord record = Record();
    for (const auto& outcome : record.csi_drivers())
      texts.push_back(outcome.driver().name() + " " +
                      std::to_string(outcome.driver().registration()) +
                      (outcome.error().empty() ? "" : ": " + outcome.error()));
    return texts;
  }
  size_t Writes() {
    size_t count = 0;
    for (const auto& seen : server.TakeSeen())
      count += seen.method != "GET" && seen.path.find("leases") == std::string::npos ? 1 : 0;
    return count;
  }
};

const std::string kDiskEntry =
    "disk.csi.example.com i-1 [topology.example.com/rack topology.example.com/zone] 8";

TEST_F(CsiSyncTest, ANewNodeHasACsiNodeBeforeItIsReady) {
  server.Inject({.method = "POST", .prefix = "/apis/storage.k8s.io", .times = 4, .code = 500});
  Start();
  all.Advance(500ms);
  const auto before = ServerCondition("Ready");
  EXPECT_EQ(before.status(), "False");
  EXPECT_EQ(before.reason(), "KubeletNotReady");
  EXPECT_EQ(before.message(), kNotInitialised);
  EXPECT_FALSE(server.Has(kTestCsiNode));
  all.Advance(5s);
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
  const auto object = CsiNode();
  EXPECT_EQ(object.metadata().owner_references(0).api_version(), "v1");
  EXPECT_EQ(object.metadata().owner_references(0).kind(), "Node");
  EXPECT_EQ(object.metadata().owner_references(0).name(), "node-a");
  EXPECT_EQ(OwnerUid(), ServerNode().metadata().uid());
  EXPECT_EQ(object.metadata().annotations().at(csi::kMigratedPluginsAnnotation),
            "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,"
            "kubernetes.io/cinder,kubernetes.io/gce-pd,kubernetes.io/portworx-volume,"
            "kubernetes.io/vsphere-volume");
  EXPECT_EQ(Logged(LogLevel::kError), 1U) << "a repeating failure is logged once";
}

TEST_F(CsiSyncTest, AQuietNodeReadsAndWritesNothing) {
  StartReady();
  all.Advance(2min);
  const auto seen = server.TakeSeen();
  for (const auto& one : seen) EXPECT_THAT(one.path, Not(HasSubstr("csinodes")));
}

TEST_F(CsiSyncTest, ANodeIsNotReadyWhileCsiNodesAreForbidden) {
  server.Inject({.prefix = "/apis/storage.k8s.io", .code = 403});
  Start();
  all.Advance(10min);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
  EXPECT_THAT(ServerCondition("Ready").message(),
              HasSubstr("failed to initialize CSINode: error updating CSINode annotation: timed "
                        "out waiting for the condition; caused by: "));
  server.ClearFaults();
  all.Advance(15s);
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
}

TEST_F(CsiSyncTest, TheServerMayBeAwayForTenMinutesAtTheStart) {
  server.SetAway(true);
  Start();
  all.Advance(10min);
  ASSERT_TRUE(all.alive(process->owner));
  EXPECT_THAT(NodeReady().message(), kNotInitialised);
  server.SetAway(false);
  all.Advance(10s);
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
  EXPECT_TRUE(server.Has(kTestCsiNode));
}

TEST_F(CsiSyncTest, ARestartKeepsTheNodeReady) {
  StartReady();
  const auto before = ServerCondition("Ready").last_transition_time().seconds();
  for (const bool exists : {true, false}) {
    all.Advance(1min);
    Crash();
    if (!exists) server.Remove(kTestCsiNode);
    server.Inject({.prefix = kTestCsiNode, .times = 20, .code = 500});
    Start();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(ServerCondition("Ready").status(), "True");
      all.Advance(100ms);
    }
    all.Advance(5min);
    EXPECT_TRUE(server.Has(kTestCsiNode));
  }
  EXPECT_EQ(ServerCondition("Ready").last_transition_time().seconds(), before);
}

TEST_F(CsiSyncTest, ACsiNodeOfAnEarlierNodeIsReplaced) {
  server.PutJson(kTestCsiNode, R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{
    "name":"node-a","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-a",
    "uid":"old"}]},"spec":{"drivers":[{"name":"stale","nodeID":"x","topologyKeys":[]}]}})");
  const std::string uid = CsiNode().metadata().uid();
  StartReady();
  EXPECT_NE(CsiNode().metadata().uid(), uid);
  EXPECT_EQ(OwnerUid(), ServerNode().metadata().uid());
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(CsiSyncTest, OneThatIsThereKeepsItsDriversAndGetsTheAnnotation) {
  StartReady();
  auto object = CsiNode();
  object.mutable_metadata()->clear_annotations();
  auto& driver = *object.mutable_spec()->add_drivers();
  driver.set_name("b");
  driver.set_node_id("2");
  server.Put(kTestCsiNode, object);
  Crash();
  StartReady();
  EXPECT_EQ(CsiNode().metadata().annotations().at(csi::kMigratedPluginsAnnotation),
            csi::MigratedPlugins());
  EXPECT_THAT(Entries(), ElementsAre("b 2 [] -"));
}

TEST_F(CsiSyncTest, ANodeThatIsMadeAgainGetsACsiNodeWithItsDrivers) {
  Report({DiskDriver()});
  StartReady();
  ASSERT_THAT(Entries(), ElementsAre(kDiskEntry));
  const std::string uid = ServerNode().metadata().uid();
  server.Remove(kTestNode);
  server.PutJson(kTestNode, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}})");
  all.Advance(15s);
  ASSERT_NE(ServerNode().metadata().uid(), uid);
  EXPECT_EQ(OwnerUid(), ServerNode().metadata().uid());
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
  EXPECT_THAT(Entries(), ElementsAre(kDiskEntry));
  EXPECT_EQ(Annotation(), R"({"disk.csi.example.com":"i-1"})");
  EXPECT_EQ(Label("topology.example.com/zone"), "z1");
}

TEST_F(CsiSyncTest, ADriverIsInTheNodeAndInTheCsiNode) {
  StartReady();
  Report({DiskDriver(), MakeDriver("a.example.com", "i-2", 5)});
  EXPECT_EQ(Annotation(), R"({"a.example.com":"i-2","disk.csi.example.com":"i-1"})");
  EXPECT_EQ(Label("topology.example.com/zone"), "z1");
  EXPECT_EQ(Label("topology.example.com/rack"), "r1");
  EXPECT_THAT(Entries(), ElementsAre("a.example.com i-2 [] -", kDiskEntry));
  EXPECT_THAT(Outcomes(), ElementsAre("a.example.com 5", "disk.csi.example.com 1"));
  server.TakeSeen();
  Report({DiskDriver(), MakeDriver("a.example.com", "i-2", 6)});
  EXPECT_THAT(Outcomes(), ElementsAre("a.example.com 6", "disk.csi.example.com 1"));
  EXPECT_EQ(Writes(), 0U) << "both objects have it";
  EXPECT_EQ(Record().labels().at("topology.example.com/zone"), "z1");
}

TEST_F(CsiSyncTest, ADriverThatLeavesIsRemovedAndItsLabelsStay) {
  StartReady();
  Report({DiskDriver(), MakeDriver("a")});
  Report({MakeDriver("a")});
  EXPECT_THAT(Entries(), ElementsAre("a i-1 [] -"));
  EXPECT_EQ(Annotation(), R"({"a":"i-1"})");
  EXPECT_THAT(Outcomes(), ElementsAre("a 1"));
  server.SetAway(true);
  Report({});
  all.Advance(10min);
  server.SetAway(false);
  all.Advance(30s);
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_FALSE(ServerNode().metadata().annotations().contains(csi::kNodeIdAnnotation));
  EXPECT_EQ(Label("topology.example.com/zone"), "z1");
}

TEST_F(CsiSyncTest, AnotherLimitIsWrittenToTheCsiNodeAlone) {
  StartReady();
  Report({DiskDriver(8)});
  auto node = ServerNode();
  node.mutable_metadata()->mutable_labels()->erase("topology.example.com/rack");
  server.Put(kTestNode, node);
  server.TakeSeen();
  Report({DiskDriver(9)});
  EXPECT_THAT(Entries(), ElementsAre("disk.csi.example.com i-1 [topology.example.com/rack "
                                     "topology.example.com/zone] 9"));
  EXPECT_EQ(Label("topology.example.com/rack"), "");
  EXPECT_EQ(Writes(), 1U);
  EXPECT_EQ(Record().csi_drivers(0).driver().max_volumes(), 9);
}

TEST_F(CsiSyncTest, LimitsAreThoseOfTheApi) {
  StartReady();
  const struct {
    int64_t reported;
    const char* want;
  } kLimits[] = {{-1, "-"}, {0, "-"}, {39, "39"}, {5'000'000'000, "2147483647"}};
  for (const auto& c : kLimits) {
    v1::CsiDriver driver = MakeDriver("a");
    driver.set_max_volumes(c.reported);
    Report({driver});
    EXPECT_THAT(Entries(), ElementsAre(std::string("a i-1 [] ") + c.want));
  }
}

TEST_F(CsiSyncTest, AnEntryThatMayNotChangeIsReplaced) {
  StartReady();
  Report({MakeDriver("a", "i-1", 1)});
  Report({MakeDriver("a", "i-2", 2)});
  EXPECT_THAT(Entries(), ElementsAre("a i-2 [] -"));
  EXPECT_EQ(Annotation(), R"({"a":"i-2"})");
  EXPECT_THAT(Outcomes(), ElementsAre("a 2"));
}

TEST_F(CsiSyncTest, ADriverThatCannotBeWrittenHasAnErrorAndLeavesNothing) {
  StartReady();
  auto node = ServerNode();
  (*node.mutable_metadata()->mutable_labels())["topology.example.com/zone"] = "z9";
  server.Put(kTestNode, node);
  all.Advance(1s);
  v1::CsiDriver with_bad_key = MakeDriver("a");
  (*with_bad_key.mutable_topology())["no label"] = "x";
  const struct {
    v1::CsiDriver driver;
    const char* want;
  } kCases[] = {
      {DiskDriver(),
       "error updating Node object with CSI driver node info: error updating node: timed out "
       "waiting for the condition; caused by: detected topology value collision: driver reported "
       "\"topology.example.com/zone\":\"z1\" but existing label is "
       "\"topology.example.com/zone\":\"z9\""},
      {MakeDriver("a", ""), "error adding CSI driver node info: driverNodeID must not be empty"},
      {MakeDriver(".."), "error adding CSI driver node info: "},
      {MakeDriver(std::string(5000, 'a')),
       "error adding CSI driver node info: the name of the driver is longer than 63 characters"},
      {MakeDriver(""), "error adding CSI driver node info: the name of the driver is empty"},
      {with_bad_key, "topology segment \"no label\""},
  };
  server.TakeSeen();
  for (const auto& c : kCases) {
    Report({c.driver});
    ASSERT_EQ(Record().csi_drivers_size(), 1) << c.want;
    EXPECT_THAT(Record().csi_drivers(0).error(), HasSubstr(c.want));
    EXPECT_EQ(Record().csi_drivers(0).driver().name(), c.driver.name());
  }
  EXPECT_EQ(Writes(), 0U);
  EXPECT_EQ(Annotation(), "");
  EXPECT_THAT(Entries(), IsEmpty());
  EXPECT_EQ(Logged(LogLevel::kError), 6U);
}

TEST_F(CsiSyncTest, ADriverThatIsRefusedLaterIsTakenBack) {
  StartReady();
  Report({DiskDriver(), MakeDriver("a")});
  v1::CsiDriver moved = DiskDriver();
  moved.set_registration(2);
  (*moved.mutable_topology())["topology.example.com/zone"] = "z2";
  Report({moved, MakeDriver("a")});
  EXPECT_EQ(Annotation(), R"({"a":"i-1"})");
  EXPECT_THAT(Entries(), ElementsAre("a i-1 [] -"));
  EXPECT_EQ(Label("topology.example.com/zone"), "z1");
  ASSERT_EQ(Record().csi_drivers_size(), 2);
  EXPECT_THAT(Record().csi_drivers(1).error(), HasSubstr("collision"));
}

TEST_F(CsiSyncTest, AnAnnotationThatIsNoJsonIsLeftAlone) {
  StartReady();
  auto node = ServerNode();
  (*node.mutable_metadata()->mutable_annotations())[csi::kNodeIdAnnotation] = "{no";
  server.Put(kTestNode, node);
  Report({MakeDriver("a")});
  EXPECT_THAT(Record().csi_drivers(0).error(),
              HasSubstr("failed to parse node's \"csi.volume.kubernetes.io/nodeid\" annotation "
                        "value (\"{no\") err="));
  EXPECT_EQ(Annotation(), "{no");
  server.TakeSeen();
  all.Advance(10min);
  EXPECT_EQ(Asked("GET", kTestCsiNode), 0U) << "it is not tried again";
}

TEST_F(CsiSyncTest, AnErrorOfTheServerIsNoOutcome) {
  StartReady();
  server.Inject({.method = "PATCH", .prefix = kTestNode, .code = 500});
  Report({DiskDriver()});
  all.Advance(10min);
  EXPECT_THAT(Outcomes(), IsEmpty());
  EXPECT_THAT(Entries(), IsEmpty()) << "the Node comes first";
  server.ClearFaults();
  server.Inject({.method = "PUT", .prefix = kTestCsiNode, .times = 3, .code = 409});
  all.Advance(12s);
  EXPECT_THAT(Outcomes(), ElementsAre("disk.csi.example.com 1"));
  EXPECT_THAT(Entries(), ElementsAre(kDiskEntry));
}

TEST_F(CsiSyncTest, ARefusalOfTheServerIsAnOutcomeAfterFourAttempts) {
  StartReady();
  server.Inject({.method = "PATCH", .prefix = kTestNode, .times = 3, .code = 403});
  Report({MakeDriver("a")});
  all.Advance(10s);
  EXPECT_THAT(Outcomes(), ElementsAre("a 1"));
  server.Inject({.method = "PUT", .prefix = kTestCsiNode, .times = 4, .code = 403});
  Report({MakeDriver("a"), MakeDriver("b")});
  all.Advance(10s);
  EXPECT_THAT(Outcomes(),
              ElementsAre("a 1", HasSubstr("b 1: error updating CSINode object with CSI driver "
                                           "node info: error updating CSINode: ")));
  EXPECT_EQ(Annotation(), R"({"a":"i-1"})") << "b is taken back";
}

TEST_F(CsiSyncTest, PodWorkerThatIsDownOrStartsRemovesNothing) {
  StartReady();
  Report({DiskDriver(), MakeDriver("a")});
  workers.reset();
  all.Advance(1min);
  EXPECT_THAT(Entries(), ElementsAre("a i-1 [] -", kDiskEntry));
  workers = std::make_unique<Owner<v1::WorkerRecord>>(*this, "pod-worker", "workers");
  workers->Complete();
  all.Advance(5s);
  Report({});
  EXPECT_THAT(Entries(), ElementsAre("a i-1 [] -", kDiskEntry));
  EXPECT_THAT(Outcomes(), IsEmpty());
  Report({MakeDriver("a", "i-1", 9)});
  EXPECT_THAT(Entries(), ElementsAre("a i-1 [] -", kDiskEntry));
  EXPECT_THAT(Outcomes(), ElementsAre("a 9"));
  Report({});
  EXPECT_THAT(Entries(), ElementsAre(kDiskEntry));
}

TEST_F(CsiSyncTest, ADriverLeavesAStartOfPodWorkerThatReportedTheSame) {
  StartReady();
  Report({DiskDriver(), MakeDriver("a")});
  network.SetConnected("pod-worker", false);
  workers.reset();
  workers = std::make_unique<Owner<v1::WorkerRecord>>(*this, "pod-worker", "workers");
  Report({DiskDriver(), MakeDriver("a")});
  workers->Complete();
  network.SetConnected("pod-worker", true);
  all.Advance(10s);
  EXPECT_THAT(Outcomes(), ElementsAre("a 1", "disk.csi.example.com 1"));
  Report({DiskDriver()});
  EXPECT_THAT(Entries(), ElementsAre(kDiskEntry));
}

TEST_F(CsiSyncTest, AStartOfStatusRemovesNothingAndWritesNothingAgain) {
  StartReady();
  Report({DiskDriver(), MakeDriver("a")});
  Crash();
  Report({DiskDriver()});
  server.TakeSeen();
  Start();
  all.Advance(10min);
  EXPECT_THAT(Entries(), ElementsAre("a i-1 [] -", kDiskEntry));
  EXPECT_THAT(Outcomes(), ElementsAre("disk.csi.example.com 1"));
  for (const auto& seen : server.TakeSeen())
    if (seen.method != "GET") EXPECT_THAT(seen.path, Not(HasSubstr("csinodes")));
}

TEST_F(CsiSyncTest, KilledAtEachWriteTheNextStartGoesOn) {
  for (const char* point :
       {"status.create-csi-node.before", "status.create-csi-node.after",
        "status.update-csi-node.before", "status.update-csi-node.after",
        "status.delete-csi-node.before", "status.delete-csi-node.after",
        "status.patch-node-drivers.before", "status.patch-node-drivers.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({.crash = [] { throw exec::Scheduler::CrashedHere(); }, .delay = {}});
    FailPoints::SetCurrent(&points);
    if (server.Has(kTestNode)) server.Remove(kTestNode);
    server.PutJson(kTestCsiNode, R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode",
      "metadata":{"name":"node-a","ownerReferences":[{"apiVersion":"v1","kind":"Node",
      "name":"node-a","uid":"old"}]},"spec":{"drivers":[]}})");
    ASSERT_TRUE(points.Set(point, "1*crash").ok());
    Report({DiskDriver()});
    Start();
    all.Advance(20s);
    EXPECT_FALSE(all.alive(process->owner));
    FailPoints::SetCurrent(nullptr);
    process.reset();
    Start();
    all.Advance(20s);
    EXPECT_EQ(ServerCondition("Ready").status(), "True");
    EXPECT_EQ(OwnerUid(), ServerNode().metadata().uid());
    EXPECT_THAT(Entries(), ElementsAre(kDiskEntry));
    EXPECT_EQ(Annotation(), R"({"disk.csi.example.com":"i-1"})");
    EXPECT_THAT(Outcomes(), ElementsAre("disk.csi.example.com 1"));
    Crash();
  }
}

TEST_F(CsiSyncTest, AnErrorAtEachWriteIsTriedAgain) {
  for (const char* point :
       {"status.create-csi-node.before", "status.create-csi-node.after",
        "status.update-csi-node.before", "status.update-csi-node.after",
        "status.delete-csi-node.before", "status.delete-csi-node.after",
        "status.patch-node-drivers.before", "status.patch-node-drivers.after"}) {
    SCOPED_TRACE(point);
    FailPoints points;
    FailPoints::SetCurrent(&points);
    if (server.Has(kTestNode)) server.Remove(kTestNode);
    server.PutJson(kTestCsiNode, R"({"apiVersion":"storage.k8s.io/v1","kind":"CSINode",
      "metadata":{"name":"node-a","ownerReferences":[{"apiVersion":"v1","kind":"Node",
      "name":"node-a","uid":"old"}]},"spec":{"drivers":[]}})");
    ASSERT_TRUE(points.Set(point, "2*return(unavailable)").ok());
    Report({DiskDriver()});
    Start();
    all.Advance(10s);
    EXPECT_EQ(ServerCondition("Ready").status(), "True");
    EXPECT_THAT(Entries(), ElementsAre(kDiskEntry));
    EXPECT_THAT(Outcomes(), ElementsAre("disk.csi.example.com 1"));
    Crash();
    FailPoints::SetCurrent(nullptr);
  }
}

}  // namespace
}  // namespace splitlet::status
