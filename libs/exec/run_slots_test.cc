#include "libs/exec/run_slots.h"

#include <gtest/gtest.h>

#include <string>

namespace splitlet::exec {
namespace {

class RunSlotsTest : public testing::Test {
 protected:
  bool Enter(const char* name, bool slow = false) {
    return slots_.Enter(slow, [this, name] { started_ += name; });
  }
  RunSlots slots_{{.at_once = 4, .waiting = 2}};
  std::string started_;
};

TEST_F(RunSlotsTest, OthersWaitInOrderAndTooManyAreRefused) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) EXPECT_TRUE(Enter(name));
  EXPECT_FALSE(Enter("g"));
  EXPECT_EQ(started_, "abcd");
  slots_.Leave(false);
  EXPECT_EQ(started_, "abcde");
  slots_.Leave(false);
  EXPECT_EQ(started_, "abcdef");
}

TEST_F(RunSlotsTest, SlowOnesLeaveHalfToTheOthers) {
  for (const char* name : {"1", "2", "3", "4"}) EXPECT_TRUE(Enter(name, true));
  EXPECT_FALSE(Enter("5", true));
  EXPECT_EQ(started_, "12");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(Enter(name));
  EXPECT_EQ(started_, "12ab");
  slots_.Leave(true);
  EXPECT_EQ(started_, "12abc") << "what is fast goes first";
  slots_.Leave(false);
  EXPECT_EQ(started_, "12abc3");
}

TEST_F(RunSlotsTest, NothingStartsOnceItIsClosed) {
  for (const char* name : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(Enter(name));
  slots_.Close();
  slots_.Leave(false);
  EXPECT_TRUE(Enter("f"));
  EXPECT_EQ(started_, "abcd");
}

}  // namespace
}  // namespace splitlet::exec
