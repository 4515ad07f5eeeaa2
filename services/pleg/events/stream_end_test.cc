#include "services/pleg/events/stream_end.h"

#include <gtest/gtest.h>

namespace splitlet::pleg {
namespace {

TEST(StreamEnd, IsFollowedByTheSameSourceOrTheNext) {
  const struct {
    const char* name;
    StreamEnd end;
    AfterStreamEnd want;
  } kCases[] = {
      {"the runtime has no such stream", {.unimplemented = true}, {.next_source = true}},
      {"an open stream of that kind, as in CRI-O",
       {.state = FeedState::kOpen, .unimplemented = true, .breaks = 2},
       {.next_source = true}},
      {"it did not open", {}, {.wait = 200ms, .breaks = 1, .failed = true}},
      {"it broke soon",
       {.state = FeedState::kOpen},
       {.wait = 200ms, .breaks = 1, .failed = true, .gap = true}},
      {"it broke soon for the fourth time",
       {.state = FeedState::kOpen, .breaks = 3},
       {.wait = 1600ms, .breaks = 4, .failed = true, .gap = true}},
      {"it broke soon for the fifth time",
       {.state = FeedState::kOpen, .breaks = 4},
       {.next_source = true, .breaks = 5, .failed = true, .gap = true}},
      {"it did not open for the fifth time",
       {.breaks = 4},
       {.next_source = true, .breaks = 5, .failed = true}},
      {"it lasted after four breaks",
       {.state = FeedState::kOpen, .lasted = true, .breaks = 4},
       {.wait = 100ms, .failed = true, .gap = true}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(AfterEnd(c.end), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pleg
