#include "libs/exec/ask.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::exec {
namespace {

class Ask : public testing::Test {
 protected:
  FakeClock clock;
  FakeLoop loop{clock};
  FakeStrands strands{loop};
};

TEST_F(Ask, WorkRunsOnTheStrandAndItsResultComesOnTheLoop) {
  const Asker asker(loop, strands);
  std::vector<std::string> order;
  asker.Ask(
      "a",
      [&] {
        EXPECT_FALSE(loop.IsCurrent());
        order.push_back("work");
        return std::string("result");
      },
      [&](const std::string& result) {
        EXPECT_TRUE(loop.IsCurrent());
        order.push_back(result);
      });
  asker.Ask(
      "a", [&] { order.push_back("second"); }, [&] { order.push_back("end of second"); });
  EXPECT_EQ(strands.Pending("a"), 2u);
  loop.RunUntilIdle();
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(order[0], "work");
  EXPECT_EQ(order.back(), "end of second");
}

TEST_F(Ask, AnOwnerThatIsGoneGetsNoResultAndItsWorkIsDone) {
  std::optional<Asker> asker;
  asker.emplace(loop, strands);
  bool worked = false, answered = false;
  asker->Ask(
      "a",
      [&] {
        worked = true;
        return OkStatus();
      },
      [&](const Status&) { answered = true; });
  asker.reset();
  loop.RunUntilIdle();
  EXPECT_TRUE(worked);
  EXPECT_FALSE(answered);
}

TEST_F(Ask, AnAnswerMayEndTheOwner) {
  auto asker = std::make_unique<Asker>(loop, strands);
  int answers = 0;
  for (int i = 0; i < 2; ++i) {
    asker->Ask(
        "a", [] { return 1; },
        [&](int one) {
          answers += one;
          asker.reset();
        });
  }
  loop.RunUntilIdle();
  EXPECT_EQ(answers, 1);
}

TEST_F(Ask, TimersEndWithTheOwner) {
  std::optional<Asker> asker;
  asker.emplace(loop, strands);
  int ran = 0;
  asker->RunAfter(1s, [&] { ++ran; });
  asker->RunAfter(3s, [&] { ++ran; });
  loop.CancelTimer(asker->RunAfter(1s, [&] { ++ran; }));
  loop.Advance(2s);
  EXPECT_EQ(ran, 1);
  asker.reset();
  loop.Advance(2s);
  EXPECT_EQ(ran, 1);
}

TEST_F(Ask, ACallOfAnotherThreadComesOnTheLoopWhileTheOwnerExists) {
  std::optional<Asker> asker;
  asker.emplace(loop, strands);
  std::vector<std::string> heard;
  const auto tell = asker->Posted<std::string, int>([&](const std::string& text, int count) {
    EXPECT_TRUE(loop.IsCurrent());
    heard.push_back(text + std::to_string(count));
  });
  tell("a", 1);
  EXPECT_TRUE(heard.empty());
  loop.RunUntilIdle();
  EXPECT_EQ(heard, std::vector<std::string>{"a1"});
  tell("b", 2);
  asker.reset();
  loop.RunUntilIdle();
  tell("c", 3);
  loop.RunUntilIdle();
  EXPECT_EQ(heard.size(), 1u);
}

}  // namespace
}  // namespace splitlet::exec
