#include "services/status/api/node/node_sync.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/status/cluster_fixture.h"

namespace splitlet::status {
namespace {

class NodeSyncTest : public ClusterTest {
 protected:
  void StartReady() {
    Start();
    all.Advance(3s);
    ASSERT_EQ(ServerCondition("Ready").status(), "True");
    server.TakeSeen();
  }
  void Change(const std::function<void(kube::Node&)>& change) {
    kube::Node changed = ServerNode();
    change(changed);
    server.Put(kTestNode, changed);
  }
};

TEST_F(NodeSyncTest, ANewNodeIsRegisteredAndReady) {
  StartReady();
  const kube::Node stored = ServerNode();
  EXPECT_EQ(stored.metadata().labels().at("kubernetes.io/hostname"), "node-a");
  EXPECT_EQ(stored.status().capacity().at("cpu").string(), "4");
  EXPECT_EQ(stored.status().node_info().container_runtime_version(), "containerd://1.7.0");
  EXPECT_EQ(stored.status().node_info().boot_id(), "boot-1");
  EXPECT_EQ(stored.status().daemon_endpoints().kubelet_endpoint().port(), 10250);
  EXPECT_EQ(ServerCondition("MemoryPressure").status(), "Unknown") << "gc has not spoken";
  EXPECT_TRUE(Record().registered());
  EXPECT_EQ(Events("Starting"), 1);
  ASSERT_TRUE(pressure->rows.Put("node", {}).ok());
  all.Advance(3s);
  EXPECT_EQ(ServerCondition("MemoryPressure").status(), "False") << "immediately, not in 10 s";
  EXPECT_EQ(Logged(LogLevel::kError), 0U);
}

TEST_F(NodeSyncTest, ARuntimeThatBecomesReadyLaterIsReportedWithinHalfASecond) {
  const struct {
    Duration after, within;
  } kStarts[] = {{100ms, 500ms}, {7s, 500ms}, {110s, 500ms}, {10min, 1200ms}};
  for (const auto& c : kStarts) {
    answers.network_ready = false;
    Start();
    all.Advance(c.after);
    EXPECT_EQ(ServerCondition("Ready").status(), "False");
    answers.network_ready = true;  // the configuration of its network has come
    all.Advance(c.within);
    EXPECT_EQ(ServerCondition("Ready").status(), "True") << c.after / 1ms;
    Crash();
    server.Remove(kTestNode);
  }
}

TEST_F(NodeSyncTest, PlegIsAskedSoonOnlyUntilTheNodeWasReady) {
  answers.network_ready = false;
  Start();
  const auto asked = [this](Duration in) {
    const int before = answers.pleg_asked;
    all.Advance(in);
    return answers.pleg_asked - before;
  };
  EXPECT_NEAR(asked(10s), 50, 3);
  all.Advance(2min);
  EXPECT_NEAR(asked(10s), 10, 2) << "it has not been ready for minutes";
  answers.network_ready = true;
  all.Advance(2s);
  EXPECT_EQ(asked(30s), 3);
  answers.network_ready = false;
  EXPECT_EQ(asked(30s), 3) << "it was ready since the start";
}

TEST_F(NodeSyncTest, TheServersLabelsAndTaintsAreTheRecords) {
  StartReady();
  Change([](kube::Node& changed) {
    (*changed.mutable_metadata()->mutable_labels())["disk"] = "ssd";
    auto& taint = *changed.mutable_spec()->add_taints();
    taint.set_key("k");
    taint.set_effect("NoSchedule");
  });
  all.Advance(1s);
  EXPECT_EQ(Record().labels().at("disk"), "ssd");
  ASSERT_EQ(Record().taints_size(), 1);
  EXPECT_EQ(Record().taints(0).key(), "k");
  Change([](kube::Node& changed) {
    changed.mutable_metadata()->mutable_labels()->erase("disk");
    changed.mutable_spec()->clear_taints();
  });
  all.Advance(1s);
  EXPECT_FALSE(Record().labels().contains("disk"));
  EXPECT_EQ(Record().taints_size(), 0);
}

TEST_F(NodeSyncTest, BeforeItIsRegisteredTheRecordHasWhatItAsksFor) {
  config.node.labels["zone"] = "a";
  config.node.taints = {{.key = "k", .effect = "NoSchedule"}};
  server.SetAway(true);
  Start();
  all.Advance(20s);
  EXPECT_FALSE(Record().registered());
  EXPECT_EQ(Record().labels().at("zone"), "a");
  EXPECT_EQ(Record().taints_size(), 1);
  EXPECT_EQ(Logged(LogLevel::kError), 2U) << "one line for the node and one for the lease";
  server.SetAway(false);
  all.Advance(10s);
  EXPECT_TRUE(Record().registered());
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
}

TEST_F(NodeSyncTest, WhatATlsBootstrapIsMakingIsNotMissed) {
  const Status missing = Unavailable("kubelet.conf: no such file");
  node_way = lease_way = {.cut = true, .error = Awaited(missing)};
  Start();
  all.Advance(25s);
  EXPECT_EQ(Logged(LogLevel::kError) + Logged(LogLevel::kWarn), 0U);
  node_way.error = lease_way.error = missing;
  all.Advance(10s);
  EXPECT_EQ(Logged(LogLevel::kError), 2U) << "one line for the node and one for the lease";
  node_way.cut = lease_way.cut = false;
  all.Advance(10s);
  EXPECT_TRUE(Record().registered());
}

TEST_F(NodeSyncTest, AttemptsToRegisterAreEverFurtherApartUpToSevenSeconds) {
  server.Inject({.method = "POST", .prefix = kNodesPath, .code = 500});
  const auto started = clock.Now();
  Start();
  std::vector<int64_t> at;
  while (at.size() < 12) {
    for (size_t i = Asked("POST", kNodesPath); i > 0; --i)
      at.push_back((clock.Now() - started) / 100ms);
    all.Advance(100ms);
  }
  // Each, to a tenth of a second, after the one before it.
  std::vector<int64_t> apart;
  for (size_t i = 3; i < at.size(); ++i) apart.push_back(at[i] - at[i - 1]);
  EXPECT_EQ(std::ranges::count(at, 20), 4) << "after 0.1, 0.3, 0.7 and 1.5 s, all seen after 2 s";
  EXPECT_EQ(apart.back(), 70);
  EXPECT_TRUE(std::ranges::is_sorted(apart));
  EXPECT_EQ(Logged(LogLevel::kError), 1U);
}

TEST_F(NodeSyncTest, WithoutAChangeItIsReportedEveryFiveMinutesAlone) {
  StartReady();
  all.Advance(2min);
  EXPECT_EQ(Asked("PATCH", kTestNode), 0U);
  const auto before = ServerCondition("Ready").last_heartbeat_time().seconds();
  all.Advance(18min);
  const size_t reports = Asked("PATCH", kTestNode);
  EXPECT_GE(reports, 3U) << "the first one after 2.5 to 7.5 min";
  EXPECT_LE(reports, 4U);
  EXPECT_GT(ServerCondition("Ready").last_heartbeat_time().seconds(), before + 10 * 60);
}

TEST_F(NodeSyncTest, VolumesInUseOfAnotherBootGoWithTheFirstReport) {
  for (const char* boot : {"boot-1", "boot-0"}) {
    server.PutJson(kTestNode, fmt::format(R"({{"apiVersion":"v1","kind":"Node",
      "metadata":{{"name":"node-a"}},"status":{{"nodeInfo":{{"bootID":"{}"}},
      "volumesInUse":["kubernetes.io/csi/a^1"]}}}})",
                                          boot));
    StartReady();
    EXPECT_EQ(ServerNode().status().node_info().boot_id(), "boot-1");
    EXPECT_EQ(ServerNode().status().volumes_in_use_size(), boot == std::string("boot-1") ? 1 : 0);
    Crash();
  }
}

TEST_F(NodeSyncTest, ANodeThatIsThereKeepsWhatOthersGaveIt) {
  server.PutJson(kTestNode, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a",
    "labels":{"mine":"x"}},"spec":{"podCIDR":"10.0.0.0/24","unschedulable":true},
    "status":{"nodeInfo":{"bootID":"boot-0"},"capacity":{"example.com/dongle":"3"},
    "conditions":[{"type":"NetworkUnavailable","status":"False"}]}})");
  StartReady();
  const kube::Node stored = ServerNode();
  EXPECT_EQ(stored.metadata().labels().at("mine"), "x");
  EXPECT_EQ(stored.spec().pod_cidr(), "10.0.0.0/24");
  EXPECT_EQ(stored.status().conditions_size(), 5);
  // Our patch names no order, so that what only the server has comes last.
  EXPECT_EQ(stored.status().conditions(4).type(), "NetworkUnavailable");
  EXPECT_EQ(Events("Rebooted"), 1);
  EXPECT_EQ(Events("NodeNotSchedulable"), 1);
  Change([](kube::Node& changed) { changed.mutable_spec()->clear_unschedulable(); });
  all.Advance(60s);
  EXPECT_EQ(Events("NodeSchedulable"), 1);
  EXPECT_EQ(Events("Rebooted"), 1) << "once";
}

TEST_F(NodeSyncTest, ADeletedNodeStaysAwayUntilAProcessStarts) {
  StartReady();
  server.Remove(kTestNode);
  all.Advance(60s);
  EXPECT_FALSE(server.Has(kTestNode));
  EXPECT_TRUE(Record().registered()) << "pods go on by what was known last";
  EXPECT_EQ(Logged(LogLevel::kError), 1U);
  Crash();
  Start();
  all.Advance(3s);
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
}

TEST_F(NodeSyncTest, ANodeMadeByAnotherIsReportedWithoutRegistering) {
  config.register_node = false;
  Start();
  all.Advance(30s);
  EXPECT_FALSE(server.Has(kTestNode));
  EXPECT_FALSE(Record().registered());
  server.PutJson(kTestNode, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}})");
  all.Advance(15s);
  EXPECT_TRUE(Record().registered());
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
}

TEST_F(NodeSyncTest, TheServerMayBeAwayForTenMinutes) {
  StartReady();
  server.SetAway(true);
  all.Advance(10min);
  EXPECT_TRUE(Record().registered());
  EXPECT_LE(Logged(LogLevel::kError), 2U) << "a repeating failure is logged once";
  answers.runtime_down = true;
  all.Advance(20s);
  server.SetAway(false);
  all.Advance(40s);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
  EXPECT_EQ(ServerCondition("Ready").message(), "container runtime is down");
  EXPECT_LT(LeaseAge(), 11s);
}

TEST_F(NodeSyncTest, TheLeaseGoesOnWhileReportsHang) {
  StartReady();
  node_way.swallows = true;
  answers.runtime_down = true;
  for (int i = 0; i < 12; ++i) {
    all.Advance(10s);
    EXPECT_LT(LeaseAge(), 21s) << i;
  }
  EXPECT_EQ(ServerCondition("Ready").status(), "True");
  node_way.swallows = false;
  all.Advance(5min);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
}

TEST_F(NodeSyncTest, AStartOfThisProcessIsNotSeenInTheNode) {
  ASSERT_TRUE(pressure->rows.Put("node", {}).ok());
  StartReady();
  const auto before = ServerCondition("Ready");
  all.Advance(60s);
  Crash();
  answers.runtime_known = false;
  Start();
  all.Advance(5s);
  EXPECT_EQ(ServerCondition("Ready").status(), "True") << "the runtime has not been asked";
  answers.runtime_known = true;
  all.Advance(15s);
  const auto after = ServerCondition("Ready");
  EXPECT_EQ(after.status(), "True");
  EXPECT_EQ(after.last_transition_time().seconds(), before.last_transition_time().seconds());
  EXPECT_EQ(ServerCondition("DiskPressure").status(), "False");
}

TEST_F(NodeSyncTest, ARuntimeThatStaysUnknownIsNotReady) {
  StartReady();
  Crash();
  answers.runtime_known = false;
  Start();
  all.Advance(60s);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
}

TEST_F(NodeSyncTest, AConflictOrAnErrorIsTriedAgainInTheSameRound) {
  StartReady();
  server.Inject({.method = "PATCH", .prefix = kTestNode, .times = 4, .code = 500});
  answers.runtime_down = true;
  all.Advance(15s);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
  EXPECT_EQ(Asked("GET", std::string(kTestNode) + "?"), 0U) << "it was known";
  EXPECT_EQ(Logged(LogLevel::kError), 0U);
}

TEST_F(NodeSyncTest, AServerThatHasNoRoomIsAskedOnceInARound) {
  StartReady();
  server.Inject({.method = "PATCH", .prefix = kTestNode, .code = 429});
  answers.runtime_down = true;
  all.Advance(60s);
  const size_t asked = Asked("PATCH", kTestNode);
  EXPECT_GE(asked, 5U);
  EXPECT_LE(asked, 8U);
  server.ClearFaults();
  all.Advance(11s);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
}

TEST_F(NodeSyncTest, WhatTheServerDoesNotKeepIsNotSentAgainInEachRound) {
  StartReady();
  node_way.unknown = "declaredFeatures";
  Change([](kube::Node& changed) { changed.mutable_status()->clear_declared_features(); });
  all.Advance(2min);
  EXPECT_LE(Asked("PATCH", kTestNode), 2U);
  answers.runtime_down = true;  // another change is reported, and nothing is forgotten by it
  all.Advance(1min);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
  EXPECT_LE(Asked("PATCH", kTestNode), 2U);
  EXPECT_EQ(ServerNode().status().declared_features_size(), 0);
  node_way.unknown.clear();
  all.Advance(10min);
  EXPECT_EQ(ServerNode().status().declared_features_size(), 1) << "it was upgraded";
}

TEST_F(NodeSyncTest, AServerThatWasRestoredIsToldAgain) {
  StartReady();
  for (int i = 0; i < 100; ++i)
    Change([i](kube::Node& changed) {
      (*changed.mutable_metadata()->mutable_labels())["step"] = std::to_string(i);
    });
  all.Advance(1s);
  ASSERT_EQ(Record().labels().at("step"), "99");
  fake_api::FakeApiServer restored{clock};  // whose versions are far behind
  kube::Node early = ServerNode();
  (*early.mutable_metadata()->mutable_labels())["step"] = "0";
  early.mutable_status()->clear_conditions();
  restored.Put(kTestNode, early);
  restored.Inject({.method = "GET", .prefix = kNodesPath, .times = 1, .code = 410});
  node_way.instead = &restored;
  server.EndWatches();
  all.Advance(60s);
  EXPECT_EQ(Record().labels().at("step"), "0");
  kube::Node reported;
  ASSERT_TRUE(restored.Get(kTestNode, reported));
  EXPECT_EQ(reported.status().conditions_size(), 4);
  Crash();
}

TEST_F(NodeSyncTest, WallClocksMayJump) {
  StartReady();
  const auto before = ServerCondition("Ready").last_transition_time().seconds();
  clock.SetWall(clock.WallNow() - 1h);
  answers.runtime_down = true;
  all.Advance(15s);
  EXPECT_EQ(ServerCondition("Ready").status(), "False");
  EXPECT_GE(ServerCondition("Ready").last_transition_time().seconds(), before);
  clock.SetWall(clock.WallNow() + 2h);
  server.TakeSeen();
  all.Advance(60s);
  EXPECT_LE(Asked("PATCH", kTestNode), 1U) << "a jump is no time that has passed";
}

TEST_F(NodeSyncTest, OfAnExternalCloudTheAddressesAreTheClouds) {
  config.node.external_cloud = true;
  StartReady();
  EXPECT_EQ(ServerNode().spec().taints(0).key(), kExternalCloudTaint);
  ASSERT_EQ(ServerNode().status().addresses_size(), 1);
  EXPECT_EQ(ServerNode().status().addresses(0).type(), "Hostname");
  Change([](kube::Node& changed) {
    auto& address = *changed.mutable_status()->add_addresses();
    address.set_type("InternalIP");
    address.set_address("203.0.113.7");
  });
  all.Advance(6min);
  ASSERT_EQ(ServerNode().status().addresses_size(), 2);
  EXPECT_EQ(ServerNode().status().addresses(1).address(), "203.0.113.7");
}

TEST_F(NodeSyncTest, OfAnExternalCloudPodsShowTheCloudsAddresses) {
  config.node.external_cloud = true;
  StartReady();
  Want("u1");
  const auto host_ips = [&] {
    all.Advance(3s);
    kube::PodStatus shown;
    const auto record = podstatus->Find("u1");
    EXPECT_TRUE(record != nullptr && shown.ParseFromString(record->status()));
    std::string ips = shown.host_ip() + ":";
    for (const auto& one : shown.host_ips()) ips += " " + one.ip();
    const v1::NodeRecord here = Record();
    std::string reported;
    for (const auto& ip : here.host_ips()) reported += " " + ip;
    EXPECT_EQ(shown.host_ip() + ":" + reported, ips) << "pod-worker gets the same";
    return ips;
  };
  EXPECT_EQ(host_ips(), "192.0.2.1: 192.0.2.1") << "as long as the cloud has not spoken";
  Change([](kube::Node& changed) {
    const auto add = [&](const char* type, const char* text) {
      auto& address = *changed.mutable_status()->add_addresses();
      address.set_type(type);
      address.set_address(text);
    };
    add("ExternalIP", "203.0.113.7");
    add("ExternalIP", "2001:db8::7");
    add("InternalIP", "10.0.0.7");
    add("InternalDNS", "node-a.internal");
  });
  EXPECT_EQ(host_ips(), "10.0.0.7: 10.0.0.7 2001:db8::7");
  const auto since = std::make_shared<std::set<std::string>>();
  podstatus->OnChange([since](const auto& change) {
    if (change.key != "node" || change.after == nullptr) return;
    for (const auto& ip : change.after->node().host_ips()) since->insert(ip);
  });
  Crash();
  Start();
  EXPECT_EQ(host_ips(), "10.0.0.7: 10.0.0.7 2001:db8::7");
  EXPECT_FALSE(since->contains("192.0.2.1")) << "not even before the server has answered";
}

TEST_F(NodeSyncTest, ALoopbackAddressIsRefused) {
  config.node_ips = config.node.node_ips = {"127.0.0.1"};
  Start();
  all.Advance(3s);
  EXPECT_FALSE(process->service->GetHealth().ready);
  EXPECT_EQ(process->service->GetHealth().reason, "--node-ip: 127.0.0.1 is a loopback address");
  EXPECT_EQ(ServerNode().status().addresses_size(), 0);
}

TEST_F(NodeSyncTest, KilledAtEachRequestTheNextStartGoesOn) {
  for (const char* point :
       {"status.create-node.before", "status.create-node.after", "status.patch-node.before",
        "status.patch-node.after", "status.reconcile-node.before", "status.reconcile-node.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({.crash = [] { throw exec::Scheduler::CrashedHere(); }, .delay = {}});
    FailPoints::SetCurrent(&points);
    if (server.Has(kTestNode)) server.Remove(kTestNode);
    answers.runtime_down = false;
    if (std::string(point).find("reconcile") != std::string::npos)
      server.PutJson(kTestNode,
                     R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}})");
    ASSERT_TRUE(points.Set(point, "1*crash").ok());
    Start();
    answers.runtime_down = true;
    all.Advance(20s);
    EXPECT_FALSE(all.alive(process->owner));
    FailPoints::SetCurrent(nullptr);
    process.reset();
    Start();
    all.Advance(20s);
    EXPECT_EQ(ServerCondition("Ready").status(), "False");
    EXPECT_EQ(ServerNode().metadata().labels().at("kubernetes.io/hostname"), "node-a");
    EXPECT_TRUE(Record().registered());
    Crash();
  }
}

}  // namespace
}  // namespace splitlet::status
