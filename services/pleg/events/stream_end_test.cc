#include "services/pleg/events/stream_end.h"

#include <gtest/gtest.h>

namespace splitlet::pleg {
namespace {

using Next = AfterStreamEnd::Next;

TEST(StreamEnd, IsFollowedByTheSameSourceOrTheNext) {
  const struct {
    const char* name;
    StreamEnd end;
    AfterStreamEnd want;
  } kCases[] = {
      {"the runtime has no such stream", {.unimplemented = true}, {.next = Next::kAbsent}},
      {"an open stream of that kind, as in CRI-O",
       {.state = FeedState::kOpen, .unimplemented = true, .breaks = 2},
       {.next = Next::kAbsent}},
      {"it did not open", {}, {.next = Next::kAgain, .wait = 200ms, .breaks = 1}},
      {"it broke soon",
       {.state = FeedState::kOpen},
       {.next = Next::kAgain, .wait = 200ms, .breaks = 1, .gap = true}},
      {"it broke soon for the fourth time",
       {.state = FeedState::kOpen, .breaks = 3},
       {.next = Next::kAgain, .wait = 1600ms, .breaks = 4, .gap = true}},
      {"it broke soon for the fifth time",
       {.state = FeedState::kOpen, .breaks = 4},
       {.next = Next::kGivenUp, .breaks = 5, .gap = true}},
      {"it did not open for the fifth time", {.breaks = 4}, {.next = Next::kGivenUp, .breaks = 5}},
      {"it lasted after four breaks",
       {.state = FeedState::kOpen, .lasted = true, .breaks = 4},
       {.next = Next::kAgain, .wait = 100ms, .gap = true}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(AfterEnd(c.end), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pleg
