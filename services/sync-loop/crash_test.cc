#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/fail_point.h"
#include "services/sync-loop/sync_loop_fixture.h"

/// Killed at each of its fail points, at each time it passes them, sync-loop ends in the same state
/// as one that was never killed, and no pod has a grant before its admission is on disk.

namespace splitlet::sync_loop {
namespace {

/// Long enough for a process that dies four times in it.
constexpr Duration kPhase = 25s;
const char* const kDirectory = "/run/sync-loop/admission";

class Crashes : public Node {
 public:
  Crashes() {
    FailPoints::SetCurrent(&points_);
    worker.on_call = [this](const std::string& uid) {
      if (FindWorker(uid) == std::nullopt && desired.table.Contains(uid) &&
          !files.Read(std::string(kDirectory) + "/" + uid, 1 << 20).ok())
        harm.push_back(uid + " was granted without a saved admission");
      return OkStatus();
    };
  }
  ~Crashes() { FailPoints::SetCurrent(nullptr); }

  /// The process dies where it passes `point` for the nth time.
  void CrashAt(const std::string& point, int n) {
    const std::string term =
        n == 1 ? "1*crash->off" : fmt::format("{}*delay(1ms)->1*crash->off", n - 1);
    ASSERT_TRUE(points_.Set(point, term).ok());
  }
  FailPoints& points() { return points_; }

  /// The work of a node: an orphan is killed; pods come, are edited, come in a further incarnation,
  /// are refused, preempted and removed.
  void Live() {
    PutNode("1");
    PutRuntime("lost", kOurs);
    StartLoop();
    const std::string half = "containers: [{name: c, resources: {requests: {cpu: 500m}}}]";
    Put({.uid = "stays", .source = "file"});
    Put({.uid = "yields", .spec = half, .created = 1});
    Put({.uid = "goes"});
    Put({.uid = "refused", .spec = "containers: [{name: c}], os: {name: windows}"});
    RunSupervised(kPhase);
    runtime.table.Remove("lost");
    Put({.uid = "stays", .source = "file", .incarnation = 2, .generation = 5});
    Put({.uid = "goes", .generation = 2});
    Put({.uid = "critical",
         .spec = "containers: [{name: c, resources: {requests: {cpu: 700m}}}]",
         .source = "file"});
    RunSupervised(kPhase);
    worker.Finish("stays");
    worker.Finish("yields");
    Put({.uid = "goes", .generation = 3, .state = v1::DesiredRecord::REMOVED});
    RunSupervised(kPhase);
    PutRuntime("stays", kOurs);
    RunSupervised(1s);
    PutRuntime("stays", kOurs, /*ready=*/false);
    End("goes");
    RunSupervised(kPhase);
  }
  /// The state that has to be the same after each crash.
  std::string State() {
    std::vector<std::string> lines;
    for (const char* uid : {"critical", "goes", "refused", "stays", "yields"}) {
      const auto record = FindWorker(uid);
      lines.push_back(
          fmt::format("{}: {}; worker {}", uid, Decision(uid),
                      record ? fmt::format("{} {}/{}", v1::WorkerState_Name(record->state()),
                                           record->incarnation(), record->generation())
                             : "none"));
    }
    std::set<std::string> killed;  // a kill may be sent twice: pod-worker answers it alike
    for (const auto& kill : worker.kills) killed.insert(kill.request_id());
    std::vector<std::string> names;
    const auto listed = files.List(kDirectory);
    for (const auto& entry : *listed) names.push_back(entry.name);
    std::ranges::sort(names);
    return fmt::format("{}\nkilled: {}\nfiles: {}", fmt::join(lines, "\n"), fmt::join(killed, " "),
                       fmt::join(names, " "));
  }

  std::vector<std::string> harm;
  int deaths = 0;

 private:
  /// With a supervisor that starts a dead process again.
  void RunSupervised(Duration duration) {
    for (Duration past{0}; past < duration; past += 500ms) {
      if (std::exchange(died_, false)) {
        ++deaths;
        Crash();
        StartLoop();
      }
      Advance(500ms);
    }
  }
  /// The worker has finished, no source wants the pod, and pod-worker knows both.
  void End(const std::string& uid) {
    worker.Finish(uid);
    desired.table.Remove(uid);
    auto record = FindWorker(uid);
    ASSERT_TRUE(record.has_value());
    record->set_removed(true);
    PutWorker(*record);
  }

  bool died_ = false;
  FailPoints points_{FailPoints::Actions{.crash =
                                             [this] {
                                               died_ = true;
                                               throw exec::Scheduler::CrashedHere{};
                                             },
                                         .delay = [](int64_t) {}}};
};

std::vector<std::string> PointsHere() {
  std::vector<std::string> names;
  for (const auto& info : FailPoints().List()) {
    const bool ours = info.name.starts_with("sync-loop.") || info.name.starts_with("fs.save") ||
                      info.name.starts_with("fs.forget");
    if (ours) names.push_back(info.name);
  }
  return names;
}

TEST(SyncLoopCrash, AtEveryFailPointEndsAsIfNothingHadHappened) {
  Crashes never;
  never.Live();
  ASSERT_EQ(never.deaths, 0);
  ASSERT_EQ(never.harm, std::vector<std::string>{});
  const std::string want = never.State();
  for (const char* expected :
       {"critical: admitted; worker SYNCING 1/1", "goes: none; worker FINISHED 1/2",
        "refused: PodOSNotSupported", "stays: admitted; worker SYNCING 2/5",
        "yields: admitted; worker FINISHED 1/1", "sync-loop/orphan/lost",
        "files: critical refused stays yields"})
    ASSERT_NE(want.find(expected), std::string::npos) << expected << " in\n" << want;
  const auto points = PointsHere();
  EXPECT_GE(points.size(), 18u);
  std::set<std::string> hit;
  for (const auto& point : points) {
    for (const int n : {1, 2, 3, 5}) {
      SCOPED_TRACE(fmt::format("killed at {}, pass {}", point, n));
      Crashes node;
      node.CrashAt(point, n);
      node.Live();
      if (node.deaths > 0) hit.insert(point);
      EXPECT_EQ(node.State(), want);
      EXPECT_EQ(node.harm, std::vector<std::string>{});
    }
  }
  EXPECT_EQ(hit.size(), points.size()) << "a point that no step of Live passes";
}

TEST(SyncLoopCrash, AgainAndAgainStillEndsWell) {
  Crashes never;
  never.Live();
  for (const auto& point : PointsHere()) {
    SCOPED_TRACE(point);
    Crashes node;
    ASSERT_TRUE(node.points().Set(point, "4*crash->off").ok());
    node.Live();
    EXPECT_GE(node.deaths, 1);
    EXPECT_EQ(node.State(), never.State());
    EXPECT_EQ(node.harm, std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace splitlet::sync_loop
