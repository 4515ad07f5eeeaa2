#include "services/status/api/lease/lease.h"

#include <gtest/gtest.h>

#include "libs/base/cancel.h"
#include "services/status/api/heartbeat_retry.h"
#include "services/status/cluster_fixture.h"

namespace splitlet::status {
namespace {

class LeaseTest : public ClusterTest {
 protected:
  void StartHeld() {
    Start();
    all.Advance(3s);
    ASSERT_TRUE(server.Has(kTestLease));
  }
  void ExpectRenewedFor(Duration duration, Duration oldest = 11s) {
    for (Duration passed{0}; passed < duration; passed += 1s) {
      all.Advance(1s);
      ASSERT_LT(LeaseAge(), oldest);
    }
  }
};

TEST_F(LeaseTest, IsTheNodesAndRenewedEveryTenSeconds) {
  StartHeld();
  const auto lease = ServerLease();
  EXPECT_EQ(lease.spec().holder_identity(), "node-a");
  EXPECT_EQ(lease.spec().lease_duration_seconds(), 40);
  ASSERT_EQ(lease.metadata().owner_references_size(), 1);
  const auto& owner = lease.metadata().owner_references(0);
  EXPECT_EQ(owner.api_version() + " " + owner.kind() + " " + owner.name(), "v1 Node node-a");
  EXPECT_EQ(owner.uid(), ServerNode().metadata().uid());
  EXPECT_EQ(Logged(LogLevel::kError) + Logged(LogLevel::kWarn), 0U)
      << "before the node there is no lease, which is no trouble";
  server.TakeSeen();
  ExpectRenewedFor(5min);
  const auto seen = server.TakeSeen();
  const auto count = [&](const std::string& method) {
    return std::ranges::count_if(seen, [&](const auto& one) {
      return one.method == method && one.path.starts_with(kTestLease);
    });
  };
  EXPECT_GE(count("PUT"), 28);
  EXPECT_LE(count("PUT"), 30);
  EXPECT_EQ(count("GET"), 0);
}

TEST_F(LeaseTest, ItsDurationIsTheConfigurations) {
  config.lease_duration_seconds = 8;
  StartHeld();
  EXPECT_EQ(ServerLease().spec().lease_duration_seconds(), 8);
  for (int i = 0; i < 30; ++i) {
    all.Advance(1s);
    ASSERT_LT(LeaseAge(), 3s);
  }
}

TEST_F(LeaseTest, AConflictIsSolvedInTheSameRound) {
  StartHeld();
  auto lease = ServerLease();
  (*lease.mutable_metadata()->mutable_labels())["by"] = "somebody";
  server.Put(kTestLease, lease);
  ExpectRenewedFor(30s);
  EXPECT_EQ(ServerLease().metadata().labels().at("by"), "somebody");
  EXPECT_EQ(Logged(LogLevel::kError), 0U);
}

TEST_F(LeaseTest, OneThatWasDeletedIsMadeAgain) {
  StartHeld();
  server.Remove(kTestLease);
  all.Advance(12s);
  ASSERT_TRUE(server.Has(kTestLease));
  EXPECT_EQ(ServerLease().metadata().owner_references_size(), 1);
}

TEST_F(LeaseTest, FiveFailuresAreNotTheEndOfARound) {
  StartHeld();
  server.Inject({.method = "PUT", .prefix = kTestLease, .times = 9, .code = 500});
  ExpectRenewedFor(30s, 13s);
  EXPECT_EQ(Logged(LogLevel::kError), 0U);
}

TEST_F(LeaseTest, AServerThatHasNoRoomIsAskedOnceInARound) {
  StartHeld();
  server.Inject({.method = "PUT", .prefix = kTestLease, .code = 429});
  server.TakeSeen();
  all.Advance(60s);
  const auto asked = server.TakeSeen();
  const auto count = std::ranges::count_if(
      asked, [](const auto& one) { return one.path.starts_with(kTestLease); });
  EXPECT_GE(count, 5);
  EXPECT_LE(count, 7);
  server.ClearFaults();
  all.Advance(11s);
  EXPECT_LT(LeaseAge(), 11s);
}

TEST(HeartbeatRetry, AreEverFurtherApartWhileTheServerCannot) {
  FakeClock clock;
  std::vector<Duration> pauses;
  const auto stop = std::make_shared<CancelToken>();
  const HeartbeatRetry retry{clock,
                             [&](Clock::Time until, const std::function<bool()>& done) {
                               pauses.push_back(until - clock.Now());
                               return done();
                             },
                             stop};
  int done = 1;
  while (retry.WaitForNext(done, Unavailable("503"))) ++done;
  EXPECT_EQ(done, 5);
  EXPECT_EQ(pauses, (std::vector<Duration>{100ms, 200ms, 400ms}));
  pauses.clear();
  EXPECT_TRUE(retry.WaitForNext(4, Aborted("conflict")));
  EXPECT_FALSE(retry.WaitForNext(1, ResourceExhausted("429")));
  stop->Cancel();
  EXPECT_FALSE(retry.WaitForNext(1, Unavailable("503")));
  EXPECT_TRUE(pauses.empty());
}

TEST_F(LeaseTest, AServerThatWasAwayGetsItSoon) {
  StartHeld();
  server.SetAway(true);
  all.Advance(5min);
  EXPECT_LE(Logged(LogLevel::kError), 2U);
  server.SetAway(false);
  all.Advance(8s);
  EXPECT_LT(LeaseAge(), 8s);
}

TEST_F(LeaseTest, GoesOnWithoutItsNodeAndWhateverTheWallClockSays) {
  StartHeld();
  server.Remove(kTestNode);
  ExpectRenewedFor(30s);
  clock.SetWall(clock.WallNow() - 1h);
  all.Advance(11s);
  ExpectRenewedFor(30s);
}

TEST_F(LeaseTest, AWayThatSwallowsRequestsIsGivenUp) {
  StartHeld();
  lease_way.swallows = true;
  all.Advance(30s);
  lease_way.swallows = false;
  all.Advance(5min);
  ExpectRenewedFor(15s);
}

TEST_F(LeaseTest, KilledAtEachRequestTheNextStartGoesOn) {
  for (const char* point : {"status.create-lease.before", "status.create-lease.after",
                            "status.renew-lease.before", "status.renew-lease.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({.crash = [] { throw exec::Scheduler::CrashedHere(); }, .delay = {}});
    FailPoints::SetCurrent(&points);
    if (server.Has(kTestLease)) server.Remove(kTestLease);
    ASSERT_TRUE(points.Set(point, "1*crash").ok());
    Start();
    all.Advance(20s);
    EXPECT_FALSE(all.alive(process->owner));
    FailPoints::SetCurrent(nullptr);
    process.reset();
    Start();
    all.Advance(15s);
    EXPECT_LT(LeaseAge(), 11s);
    EXPECT_EQ(server.List("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases").size(),
              1U);
    Crash();
  }
}

}  // namespace
}  // namespace splitlet::status
