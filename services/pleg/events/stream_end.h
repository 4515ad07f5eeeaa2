#pragma once

/// The decision after the end of an event stream: the same source after a wait, or the next source.
/// Threads: a pure function, any.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Listing".

#include "libs/base/clock.h"

namespace splitlet::pleg {

enum class FeedState {
  kTrying,   // the stream of a source is opened
  kOpen,     // events come
  kWaiting,  // for the next attempt at the same source
  kPolling,  // no source works; the first one is tried again after a longer wait
};

struct StreamEnd {
  FeedState state = FeedState::kTrying;  // kTrying: the stream never opened
  bool lasted = false;                   // it was open for long enough
  bool unimplemented = false;            // the runtime has no such stream
  int breaks = 0;  // ends of this source before this one, each soon after its opening
};
struct AfterStreamEnd {
  enum class Next {
    kAbsent,   // try the next source immediately; this one is not counted as failed
    kGivenUp,  // try the next source immediately
    kAgain,    // try the same source after `wait`
  };
  Next next = Next::kAbsent;
  Duration wait{0};
  int breaks = 0;
  bool gap = false;  // events may have been missed
  bool operator==(const AfterStreamEnd&) const = default;
};
AfterStreamEnd AfterEnd(const StreamEnd& end);

}  // namespace splitlet::pleg
