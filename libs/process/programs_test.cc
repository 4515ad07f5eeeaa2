#include "libs/process/programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

namespace splitlet::process {
namespace {

using namespace std::chrono_literals;

Program Script(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

class ProgramsTest : public testing::Test {
 protected:
  /// Waits until the owner was told once more.
  void WaitTold(const std::string& owner) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [&] { return owners_.contains(owner); });
    owners_.erase(owners_.find(owner));
  }
  std::unique_ptr<RealPrograms> Make() {
    return std::make_unique<RealPrograms>(
        RealPrograms::Options{mark_, [this](const std::string& owner) {
                                const std::lock_guard lock(mutex_);
                                owners_.insert(owner);
                                told_.notify_all();
                              }});
  }
  /// As a process leaves it that was killed while it ran.
  void LeaveBehind(const ProgramKey& key, const std::string& script) {
    RunMarked(key, script + " >/dev/null 2>&1 &");
  }
  /// It leads its session when this returns.
  void LeaveDaemon(const ProgramKey& key) {
    const std::string there = testing::TempDir() + mark_ + ".leads";
    RunMarked(key, "setsid sh -c 'echo 1 >\"" + there +
                       "\"; sleep 3 & wait' >/dev/null 2>&1 & "
                       "until [ -s \"" +
                       there + "\" ]; do sleep 0.01; done; rm \"" + there + "\"");
  }

 private:
  void RunMarked(const ProgramKey& key, const std::string& script) {
    Program program = Script(script);
    program.env["SPLITLET_PROGRAM"] = mark_ + "\n" + key.owner + "\n" + key.what;
    ASSERT_TRUE(RunProgram(program).ok());
  }

 protected:
  /// Of this test: those of the one before may be about to end still.
  const std::string mark_ =
      std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::mutex mutex_;
  std::condition_variable told_;
  std::multiset<std::string> owners_;
};

TEST_F(ProgramsTest, GivesWhatItPrintedOnceItsOwnerIsTold) {
  const auto programs = Make();
  const ProgramKey key{"a", "greet"};
  EXPECT_EQ(programs->Run(key, Script("read line; echo $line")), std::nullopt)
      << "its input has ended: it goes on";
  WaitTold("a");
  EXPECT_TRUE(programs->Knows(key));
  const auto given = programs->Run(key, Script("exit 7"));
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->value_or("failed"), "\n");
  EXPECT_FALSE(programs->Knows(key)) << "it was given once";
  EXPECT_EQ(programs->Run(key, Script("echo why >&2; exit 7")), std::nullopt);
  WaitTold("a");
  EXPECT_EQ(Message(programs->Run(key, Script(""))->status()), "sh: exit code 7: why");
  EXPECT_EQ(programs->Run(key, {.argv = {"/does/not/exist"}})->status().code(),
            StatusCode::kNotFound);
}

TEST_F(ProgramsTest, OneThatHangsHoldsUpNoOther) {
  const auto programs = Make();
  Program hangs = Script("exec sleep 1000");
  hangs.limit = 5min;
  for (const char* owner : {"a", "b", "c"})
    EXPECT_EQ(programs->Run({owner, "hang"}, hangs), std::nullopt);
  EXPECT_EQ(programs->Run({"d", "go"}, Script("echo done")), std::nullopt);
  WaitTold("d");
  EXPECT_EQ(programs->Run({"d", "go"}, hangs)->value_or(""), "done\n");
  EXPECT_EQ(programs->Run({"a", "hang"}, hangs), std::nullopt);
}

TEST_F(ProgramsTest, OneThatDoesNotEndInTimeIsKilled) {
  const auto programs = Make();
  Program hangs = Script("exec sleep 1000");
  hangs.limit = 100ms;
  const ProgramKey key{"a", "hang"};
  EXPECT_EQ(programs->Run(key, hangs), std::nullopt);
  WaitTold("a");
  const auto given = programs->Run(key, hangs);
  ASSERT_TRUE(given.has_value());
  EXPECT_EQ(given->status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Message(given->status()), "sh: no end after 1 s");
  WaitTold("a");
  EXPECT_FALSE(programs->Knows(key)) << "it is gone";
}

TEST_F(ProgramsTest, OneThatIsForgottenIsKilledAndTold) {
  const auto programs = Make();
  Program hangs = Script("exec sleep 1000");
  hangs.limit = 5min;
  const ProgramKey key{"a", "hang"};
  EXPECT_TRUE(programs->Forget(key)) << "there is none";
  EXPECT_EQ(programs->Run(key, hangs), std::nullopt);
  EXPECT_FALSE(programs->Forget(key)) << "it is not gone yet";
  WaitTold("a");
  EXPECT_FALSE(programs->Knows(key));
  EXPECT_TRUE(programs->Forget(key));
}

TEST_F(ProgramsTest, OneThatAnEarlierProcessLeftIsGoneOnWith) {
  const ProgramKey key{"a", "hang /some where"}, late{"b", "late"};
  LeaveBehind(key, "sleep 1000");
  LeaveBehind(late, "sleep 1000");
  LeaveDaemon({"c", "daemon"});
  const auto programs = Make();
  EXPECT_TRUE(programs->Knows(key));
  EXPECT_FALSE(programs->Knows({"c", "daemon"})) << "a daemon is nobody's helper";
  EXPECT_EQ(programs->Run(key, Script("exit 1")), std::nullopt) << "no second one is begun";
  EXPECT_FALSE(programs->Forget(key));
  WaitTold("a");
  EXPECT_FALSE(programs->Knows(key));
  Program soon = Script("exit 1");
  soon.limit = 50ms;
  EXPECT_EQ(programs->Run(late, soon), std::nullopt);
  WaitTold("b");
  EXPECT_EQ(programs->Run(late, soon)->status().code(), StatusCode::kDeadlineExceeded);
  WaitTold("b");
  EXPECT_FALSE(programs->Knows(late));
}

TEST_F(ProgramsTest, OneThatAnEarlierProcessLeftEndsNobodyKnowsHow) {
  const ProgramKey key{"a", "short"};
  LeaveBehind(key, "sleep 0.3");
  const auto programs = Make();
  if (!programs->Knows(key)) GTEST_SKIP() << "it has ended already";
  WaitTold("a");
  EXPECT_EQ(programs->Run(key, Script(""))->status().code(), StatusCode::kAborted);
}

TEST_F(ProgramsTest, OfAnotherMarkAreLeftAlone) {
  const ProgramKey key{"a", "hang"};
  LeaveBehind(key, "sleep 1000");
  const RealPrograms other({mark_ + "-other", [](const std::string&) {}});
  EXPECT_FALSE(other.Knows(key));
  const auto programs = Make();
  EXPECT_FALSE(programs->Forget(key));
  WaitTold("a");
}

}  // namespace
}  // namespace splitlet::process
