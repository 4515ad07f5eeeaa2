#include "libs/daemon/idle_trim.h"

#include <gtest/gtest.h>

namespace splitlet::daemon {
namespace {

/// A process and its CPU time.
struct Worker {
  IdleTrim trim;
  Duration used{0};

  /// The trims in `rounds` rounds that take `each` of CPU time.
  int Rounds(int rounds, Duration each) {
    int trims = 0;
    for (int i = 0; i < rounds; ++i) {
      used += each;
      if (trim.IsDue(used)) ++trims;
    }
    return trims;
  }
};

TEST(IdleTrim, TheStartIsABurst) {
  Worker worker;
  EXPECT_EQ(worker.Rounds(1, 500ms), 0);
  EXPECT_EQ(worker.Rounds(IdleTrim::kIdleRounds - 1, 1ms), 0);
  EXPECT_EQ(worker.Rounds(1, 1ms), 1);
}

TEST(IdleTrim, ABurstIsFollowedByOneTrim) {
  Worker worker;
  worker.Rounds(10, 1ms);
  EXPECT_EQ(worker.Rounds(4, 300ms), 0) << "not under load";
  EXPECT_EQ(worker.Rounds(IdleTrim::kIdleRounds - 1, 1ms), 0) << "not idle for long enough";
  EXPECT_EQ(worker.Rounds(1, 1ms), 1);
  EXPECT_EQ(worker.Rounds(100, 1ms), 0) << "once";
}

TEST(IdleTrim, WorkBetweenIdleRoundsPutsTheTrimOff) {
  Worker worker;
  worker.Rounds(10, 1ms);
  worker.Rounds(1, 300ms);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(worker.Rounds(IdleTrim::kIdleRounds - 1, IdleTrim::kIdle), 0) << i;
    EXPECT_EQ(worker.Rounds(1, IdleTrim::kIdle + 1ms), 0) << i;
  }
  EXPECT_EQ(worker.Rounds(IdleTrim::kIdleRounds, IdleTrim::kIdle), 1);
}

TEST(IdleTrim, AProcessThatIsNeverIdleIsTrimmedNowAndThen) {
  Worker worker;
  EXPECT_EQ(worker.Rounds(5 * IdleTrim::kMostRounds, 100ms), 4)
      << "each trim after " << IdleTrim::kMostRounds << " rounds and the burst before them";
}

TEST(IdleTrim, SlowWorkAddsUpToABurst) {
  Worker worker;
  worker.Rounds(10, 1ms);
  EXPECT_EQ(worker.Rounds(1000, 1ms), 5) << "one for each 200 ms";
}

}  // namespace
}  // namespace splitlet::daemon
