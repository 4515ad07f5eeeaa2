#pragma once

/// The results of inspections and listings of one pod, and what follows from the next of either.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Inspection"; docs/safety.md, rules 7 and 21.

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/pleg/listing/relist.h"

namespace splitlet::pleg {

/// At most one inspection of a pod runs at a time.
enum class Progress {
  kIdle,
  kInspecting,
  kInspectingOnceMore,  // it was asked for again: another one follows the one that runs
};
enum class Step {
  kAsked,  // an inspection that begins from now on
  kEnded,  // the running one
};
struct Transition {
  Progress to = Progress::kIdle;
  bool begins = false;  // kAsked: an inspection begins now; kEnded: it is to be asked for again
  bool operator==(const Transition&) const = default;
};
Transition Advance(Progress now, Step step);

struct PodInspection {
  bool known = false;  // the last good inspection showed something
  States states;       // as in the record
  Clock::Time listed_at;
  Clock::Time absent_at;   // when a listing without the pod began
  Clock::Time differs_at;  // when a listing that differs from the record began
  Status error;            // of the last inspection
  /// The last inspection succeeded and showed something.
  bool current() const { return known && error.ok(); }
};

/// The record of a pod beside what a listing shows of it.
enum class Comparison { kNewer, kSame, kDiffers };
Comparison Judge(const PodInspection& pod, Clock::Time began, const States& listed);

/// A good inspection beside the listings that came while it ran.
enum class Age {
  kBeforeAbsence,     // a later listing did not show the pod: inspect again, accept nothing
  kBeforeDifference,  // a later listing showed something else: accept, but do not vouch for it
  kCurrent,
};
Age AgeOf(const PodInspection& pod, Clock::Time listed_at);

}  // namespace splitlet::pleg
