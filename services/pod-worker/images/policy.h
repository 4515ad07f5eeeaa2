#pragma once

/// Whether a container's image is used as it is, pulled, or refused, and what people are told; and
/// the back-off after failed pulls.
/// Threads: pure functions and values, any.
/// Errors:  a bad name is INVALID_ARGUMENT with the reason only.
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

/// "Always" for no tag or `latest`, else "IfNotPresent". `policy` when it is not empty.
std::string PullPolicyOf(const std::string& policy, const std::string& image);

struct ImageEvent {
  bool warning = false;
  std::string reason, message;
};

/// What is known of pulls of one image for one pod.
struct PullMemory {
  std::string pulled_ref;  // the answer of a pull that is still to be used
  /// Containers that alone may use it, as it was a volume's when others started: their own images
  /// were being pulled. Empty: whoever comes first.
  std::set<std::string> kept_for;
  bool pulling = false;
  std::set<std::string> waiting;  // containers, for the pull that runs; "": a volume
  Duration delay{0};              // 0: never failed
  Duration wait{0};               // of it, with jitter: pods that failed together come back apart
  Clock::Time failed_at;
  std::string reason, message;  // of the last real failure
  bool failed_anew = false;     // that of a volume's image, which no sync has shown yet
  /// Containers that have the events of the wait that runs; "": a volume.
  std::set<std::string> backed_off;
};

struct ImageDecision {
  enum class Kind { kUse, kPull, kWaitForPull, kFail };
  Kind kind = Kind::kFail;
  std::string ref;                      // kUse
  std::string reason, message;          // kFail; who waits gets the event "Error: <reason>" too
  std::optional<Clock::Time> retry_at;  // end of the back-off
  /// With `retry_at`: when the next sync decides otherwise. That may be earlier, as the error of a
  /// pull gives way to ImagePullBackOff while the back-off lasts.
  std::optional<Clock::Time> sync_at;
  bool backs_off = false;  // its events are written once for each wait and container
  std::vector<ImageEvent> events;
};

struct ImageQuestion {
  std::string image;   // as in the spec
  std::string policy;  // may be empty
  Clock::Time now;
};

/// Must the runtime be asked whether it has the image?
bool NeedsImageStatus(const ImageQuestion& question, const PullMemory& memory);
/// `local`: the answer of ImageStatus; nullptr when it was not asked.
ImageDecision DecideImage(const ImageQuestion& question, const PullMemory& memory,
                          const StatusOr<std::optional<cri::Image>>* local);

/// A request for an image, as it is counted: "always"; the others "true", "false" or "unknown".
struct ImageRequest {
  std::string policy, present, pull;
  bool operator==(const ImageRequest&) const = default;
};
/// `present`: whether the runtime has it, whoever may use it; nothing: that is not known. No
/// request when the decision goes on with a pull that was counted when it was asked for.
std::optional<ImageRequest> RequestOf(const ImageQuestion& question, const PullMemory& memory,
                                      std::optional<bool> present, const ImageDecision& decision);

/// As events and statuses show it.
std::string PullErrorText(const Status& error);

/// After a failed pull: remembers it, doubles the delay, returns reason and message of the
/// container. They are shown for half of the back-off, 10 s at most.
ImageDecision PullFailed(const ImageQuestion& question, const Status& error, Random& random,
                         PullMemory& memory);

}  // namespace splitlet::pod_worker
