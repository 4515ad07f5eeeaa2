#include "services/pleg/events/stream_end.h"

namespace splitlet::pleg {
namespace {

constexpr int kMaxBreaks = 5;

}  // namespace

AfterStreamEnd AfterEnd(const StreamEnd& end) {
  if (end.unimplemented) return {.next_source = true};
  AfterStreamEnd after{.breaks = end.lasted ? 0 : end.breaks + 1,
                       .failed = true,
                       .gap = end.state == FeedState::kOpen};
  after.next_source = after.breaks >= kMaxBreaks;
  if (!after.next_source) after.wait = std::chrono::milliseconds{100 << after.breaks};
  return after;
}

}  // namespace splitlet::pleg
