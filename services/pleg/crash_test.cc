#include "libs/base/fail_point.h"
#include "services/pleg/pleg_fixture.h"

/// Killed at each of its fail points, pleg shows after its next start what the runtime shows.

namespace splitlet::pleg {
namespace {

class PlegCrash : public PlegTest {
 protected:
  PlegCrash() {
    FailPoints::SetCurrent(&points_);
    all_.SetAfterStep([this](const auto&, bool crashed) { died_ = died_ || crashed; });
  }
  ~PlegCrash() override { FailPoints::SetCurrent(nullptr); }
  /// The process dies where it passes `point` for the nth time.
  void CrashAt(const std::string& point, int n) {
    const std::string term =
        n == 1 ? "1*crash->off" : fmt::format("{}*delay(1ms)->1*crash->off", n - 1);
    ASSERT_TRUE(points_.Set(point, term).ok());
  }
  /// As RunFor, with a supervisor that starts a dead process again.
  void RunSupervised(Duration duration) {
    for (Duration past{0}; past < duration; past += 10ms) {
      if (std::exchange(died_, false)) {
        ++deaths_;
        Kill();
        Start(Streams::kCri);
      }
      RunFor(10ms);
    }
  }

  FailPoints points_{FailPoints::Actions{.crash = [] { throw exec::Scheduler::CrashedHere{}; },
                                         .delay = [](int64_t) {}}};
  bool died_ = false;
  int deaths_ = 0;
};

TEST_F(PlegCrash, AtEveryFailPointTheNextStartShowsEverything) {
  for (const char* name : {"web", "db"}) RunPod(name);
  int pods = 0;
  const struct {
    const char* point;
    int passes;
  } kCases[] = {{"pleg.relist.before", 3},   {"pleg.inspect.before", 3}, {"pleg.put.before", 3},
                {"pleg.put.after", 3},       {"pleg.signal.before", 1},  {"pleg.signal.after", 1},
                {"pleg.complete.before", 2}, {"pleg.complete.after", 2}};
  for (const auto& [point, passes] : kCases) {
    for (int n = 1; n <= passes; ++n) {
      SCOPED_TRACE(fmt::format("killed at {}, pass {}", point, n));
      const std::string name = fmt::format("pod{}", ++pods);
      deaths_ = 0;
      CrashAt(point, n);
      Start(Streams::kCri);
      RunSupervised(1s);
      RunPod(name);
      RunSupervised(1s);
      ASSERT_TRUE(runtime_.ExitContainer(name, "app", 1).ok());
      RunSupervised(12s);
      EXPECT_EQ(deaths_, 1);
      EXPECT_EQ(StateOf(name), v1::ContainerRecord::EXITED);
      ExpectTrue();
      Kill();
    }
  }
}

TEST_F(PlegCrash, AtTheRemovalOfARecordTheNextStartShowsNoMore) {
  int pods = 0;
  for (const char* point : {"pleg.remove.before", "pleg.remove.after"}) {
    SCOPED_TRACE(point);
    const std::string name = fmt::format("pod{}", ++pods);
    deaths_ = 0;
    CrashAt(point, 1);
    Start(Streams::kCri);
    const auto sandbox = RunPod(name);
    RunSupervised(1s);
    ASSERT_NE(Find(name), nullptr);
    ASSERT_TRUE(runtime_.StopPodSandbox(sandbox, Soon()).ok());
    ASSERT_TRUE(runtime_.RemovePodSandbox(sandbox, Soon()).ok());
    RunSupervised(12s);
    EXPECT_EQ(deaths_, 1);
    EXPECT_EQ(Find(name), nullptr);
    ExpectTrue();
    Kill();
  }
}

}  // namespace
}  // namespace splitlet::pleg
