#pragma once

/// The results of inspections and listings of one pod, and what follows from the next of either.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Inspection"; docs/safety.md, rules 7 and 21.

#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/pleg/listing/relist.h"

namespace splitlet::v1 {
class ObservedPod;
class RuntimeRecord;
}  // namespace splitlet::v1

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

/// A listing that began then does not show the pod, and no later inspection showed it.
bool IsGone(const PodInspection& pod, Clock::Time began);

/// The inspection takes long, or the last one ran into its deadline. `took`: since its begin.
bool IsStuck(Progress progress, Duration took, const Status& last_error);

/// The changes that follow from a good inspection that showed something.
struct Acceptance {
  enum class Publish {
    kNothing,       // nothing but the time of the inspection has changed
    kPut,           // the record
    kPutAndSignal,  // the record, and pod-worker has work
  };
  Publish publish = Publish::kNothing;
  bool begins_trace = false;    // something ended that ran
  bool reason_follows = false;  // a container was killed: the runtime may learn later for what
  bool operator==(const Acceptance&) const = default;
};
/// `before`: as last inspected. `record`: as last put; null: none.
Acceptance Accept(const States& before, const v1::RuntimeRecord* record,
                  const v1::ObservedPod& observed);

struct PodNames {
  std::string uid, name, name_space;
};
/// The record after a failed inspection. A record keeps its content and gets the error too: the
/// error does not change what is known of the pod. No value: `record` has this error already.
std::optional<v1::RuntimeRecord> WithError(const v1::RuntimeRecord* record, const PodNames& pod,
                                           const std::string& error);

}  // namespace splitlet::pleg
