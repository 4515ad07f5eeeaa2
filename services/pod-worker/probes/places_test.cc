#include "services/pod-worker/probes/places.h"

#include <gtest/gtest.h>

#include <string>

namespace splitlet::pod_worker {
namespace {

class PlacesTest : public testing::Test {
 protected:
  bool Enter(const char* name, bool slow = false) {
    return places_.Enter(slow, [this, name] { started_ += name; });
  }
  Places places_{{.at_once = 4, .waiting = 2}};
  std::string started_;
};

TEST_F(PlacesTest, OthersWaitInOrderAndTooManyAreRefused) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) EXPECT_TRUE(Enter(name));
  EXPECT_FALSE(Enter("g"));
  EXPECT_EQ(started_, "abcd");
  places_.Leave(false);
  EXPECT_EQ(started_, "abcde");
  places_.Leave(false);
  EXPECT_EQ(started_, "abcdef");
}

TEST_F(PlacesTest, SlowOnesLeaveHalfToTheOthers) {
  for (const char* name : {"1", "2", "3", "4"}) EXPECT_TRUE(Enter(name, true));
  EXPECT_FALSE(Enter("5", true));
  EXPECT_EQ(started_, "12");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(Enter(name));
  EXPECT_EQ(started_, "12ab");
  places_.Leave(true);
  EXPECT_EQ(started_, "12abc") << "what is fast goes first";
  places_.Leave(false);
  EXPECT_EQ(started_, "12abc3");
}

TEST_F(PlacesTest, NothingStartsOnceItIsClosed) {
  for (const char* name : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(Enter(name));
  places_.Close();
  places_.Leave(false);
  EXPECT_TRUE(Enter("f"));
  EXPECT_EQ(started_, "abcd");
}

}  // namespace
}  // namespace splitlet::pod_worker
