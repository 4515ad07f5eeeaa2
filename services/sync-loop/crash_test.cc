#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "libs/base/fail_point.h"
#include "services/sync-loop/sync_loop_fixture.h"

/// Killed at each of its fail points, sync-loop ends as if nothing had happened.

namespace splitlet::sync_loop {
namespace {

/// sync-loop dies once where it passes `point` first.
class CrashPoint {
 public:
  explicit CrashPoint(const std::string& point) {
    EXPECT_TRUE(points_.Set(point, "1*crash->off").ok());
    FailPoints::SetCurrent(&points_);
  }
  ~CrashPoint() {
    FailPoints::SetCurrent(nullptr);
    EXPECT_TRUE(crashed_);
  }
  CrashPoint(const CrashPoint&) = delete;
  CrashPoint& operator=(const CrashPoint&) = delete;

 private:
  bool crashed_ = false;
  FailPoints points_{FailPoints::Actions{.crash =
                                             [this] {
                                               crashed_ = true;
                                               throw exec::Scheduler::CrashedHere{};
                                             },
                                         .delay = [](int64_t) {}}};
};

/// Whatever line it is killed at, a pod ends up admitted once and granted.
TEST(SyncLoopCrash, ACrashAtAnyFailPointOnlyDelays) {
  for (const char* point : {"sync-loop.complete.before", "sync-loop.complete.after",
                            "sync-loop.save-admission.before", "sync-loop.save-admission.after",
                            "sync-loop.put-admission.before", "sync-loop.put-admission.after",
                            "sync-loop.update-pod.before", "sync-loop.update-pod.after"}) {
    SCOPED_TRACE(point);
    Node node;
    node.PutNode();
    {
      const CrashPoint crash(point);
      node.StartLoop();
      node.Put({.uid = "web"});
      node.Settle();
    }
    node.Restart();
    node.Advance(5s);
    EXPECT_EQ(node.Decision("web"), "admitted");
    EXPECT_EQ(node.Calls().front(), "CREATE web 1/1");
  }
}

TEST(SyncLoopCrash, ACrashAtTheEndOfAPodOnlyDelays) {
  const struct {
    const char* name;
    const char* effect;
    std::function<void(Node&)> act;
    std::function<bool(Node&)> done;
  } kCases[] = {
      {"an admission that is removed", "sync-loop.remove-admission",
       [](Node& node) {
         node.worker.Set("web", v1::FINISHED);
         node.desired.table.Remove("web");
         auto record = node.workers.table.Get("web");
         ASSERT_NE(record, nullptr);
         record->set_removed(true);
         ASSERT_TRUE(node.workers.table.Put("web", *record).ok());
       },
       [](Node& node) {
         return node.Decision("web") == "none" &&
                node.files.List("/run/sync-loop/admission")->empty();
       }},
      {"an incarnation that is killed", "sync-loop.kill-pod",
       [](Node& node) { node.Put({.uid = "web", .incarnation = 2, .generation = 5}); },
       [](Node& node) { return !node.worker.kills.empty(); }},
      {"an orphan that is killed", "sync-loop.kill-orphan",
       [](Node& node) { node.PutRuntime("lost", kOurs); },
       [](Node& node) { return !node.worker.kills.empty(); }},
  };
  for (const auto& c : kCases) {
    for (const char* side : {".before", ".after"}) {
      SCOPED_TRACE(c.name + std::string(side));
      Node node;
      node.PutNode();
      node.StartLoop();
      node.Put({.uid = "web"});
      node.Settle();
      {
        const CrashPoint crash(c.effect + std::string(side));
        c.act(node);
        node.Advance(10s);
      }
      node.Restart();
      node.Advance(10s);
      EXPECT_TRUE(c.done(node));
    }
  }
}

}  // namespace
}  // namespace splitlet::sync_loop
