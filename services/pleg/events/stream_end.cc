#include "services/pleg/events/stream_end.h"

namespace splitlet::pleg {
namespace {

constexpr int kMaxBreaks = 5;

}  // namespace

AfterStreamEnd AfterEnd(const StreamEnd& end) {
  using Next = AfterStreamEnd::Next;
  if (end.unimplemented) return {.next = Next::kAbsent};
  const int breaks = end.lasted ? 0 : end.breaks + 1;
  const bool gap = end.state == FeedState::kOpen;
  if (breaks >= kMaxBreaks) return {.next = Next::kGivenUp, .breaks = breaks, .gap = gap};
  return {.next = Next::kAgain,
          .wait = std::chrono::milliseconds{100 << breaks},
          .breaks = breaks,
          .gap = gap};
}

}  // namespace splitlet::pleg
