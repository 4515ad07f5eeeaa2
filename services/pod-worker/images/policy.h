#pragma once

/// Decides whether a container's image is used as it is, pulled or refused, with the events of
/// that; and the back-off after failed pulls.
/// Threads: pure functions and values, any.
/// Errors:  in ImageDecision.
/// Source:  docs/behaviour/images.md.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace splitlet::pod_worker {

/// `policy` when it is not empty; else "Always" for no tag or `latest`, and "IfNotPresent"
/// otherwise.
std::string PullPolicyOf(const std::string& policy, const std::string& image);

struct ImageEvent {
  bool warning = false;
  std::string reason, message;
};

/// The pulls of one image for one pod.
struct PullMemory {
  std::string pulled_ref;  // the answer of the last pull, until a sync uses it
  /// Only these containers may use the answer: a volume used it already, while the images of these
  /// containers were being pulled. Empty: any container may.
  std::set<std::string> kept_for;
  bool pulling = false;
  std::set<std::string> waiting;  // containers, for the pull that runs; "": a volume
  Duration delay{0};              // 0: never failed
  Duration wait{0};               // `delay` with jitter, so that pods do not retry in lockstep
  Clock::Time failed_at;
  std::string reason, message;      // of the last real failure
  bool unreported_failure = false;  // the failure of a volume's image, until a sync has reported it
  /// Containers that already have the events of the present back-off; "": a volume.
  std::set<std::string> backed_off;
};

struct ImageDecision {
  enum class Kind { kUse, kPull, kWaitForPull, kFail };
  Kind kind = Kind::kFail;
  std::string ref;                      // kUse
  std::string reason, message;          // kFail; the container also gets "Error: <reason>"
  std::optional<Clock::Time> retry_at;  // end of the back-off
  /// With `retry_at`: when the next sync decides differently. That may be before `retry_at`,
  /// because ImagePullBackOff replaces the error of the pull while the back-off lasts.
  std::optional<Clock::Time> sync_at;
  bool backs_off = false;    // events come once for each back-off and container
  bool never_pulls = false;  // the policy forbids the pull that the image needs
  std::vector<ImageEvent> events;
};

struct ImageQuestion {
  std::string image;   // as in the spec
  std::string policy;  // may be empty
  Clock::Time now;
};

/// The decision needs the runtime's answer to ImageStatus.
bool NeedsImageStatus(const ImageQuestion& question, const PullMemory& memory);
/// `local`: the answer of ImageStatus; nullptr: the runtime was not asked.
ImageDecision DecideImage(const ImageQuestion& question, const PullMemory& memory,
                          const StatusOr<std::optional<cri::Image>>* local);

/// Labels of a counted request: `policy` in lower case; the others "true", "false" or "unknown".
struct ImageRequest {
  std::string policy, present, pull;
  bool operator==(const ImageRequest&) const = default;
};
/// `present`: the runtime has the image, whether or not the pod may use it; unset: not known. No
/// request when the decision continues a pull that was counted before.
std::optional<ImageRequest> RequestOf(const ImageQuestion& question, const PullMemory& memory,
                                      std::optional<bool> present, const ImageDecision& decision);

/// The error as events and statuses show it.
std::string PullErrorText(const Status& error);

/// After a failed pull: remembers the failure, doubles the delay, and returns reason and message of
/// the container. Statuses show them for half of the back-off, at most 10 s.
ImageDecision PullFailed(const ImageQuestion& question, const Status& error, Random& random,
                         PullMemory& memory);

}  // namespace splitlet::pod_worker
