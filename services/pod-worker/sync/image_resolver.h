#pragma once

/// Which image a container, or a volume of it, gets in a sync: the one that is there if its pod may
/// use it, or the one that a pull has brought.
/// Threads: that of the sync.
/// Errors:  in Answer, with their events.
/// Source:  docs/behaviour/images.md, "Decision" and "Whose image it is".

#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/images/policy.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::pod_worker {

/// Why there is no image to start with.
struct ImageFailure {
  WaitingReason reason;
  std::string image;  // as in the spec
  /// Unset: the next try comes as after any error.
  std::optional<Clock::Time> sync_at = std::nullopt;
  bool backs_off = false;
  std::set<std::string> backed_off = {};  // containers that have the events of this wait
};

class ImageResolver {
 public:
  struct Context {
    const SyncDeps& deps;
    const SyncInput& input;
    const kube::Pod& pod;
    PodEvents& events;
  };
  ImageResolver(Context context, SyncOutcome& out) : context_(context), out_(out) {}

  struct Wanted {
    const std::string& image;      // as in the spec
    const std::string& policy;     // may be empty
    const std::string& container;  // "": a volume; its events are those of the pod
    const std::string& user;       // the container that is to start with it
  };
  struct Answer {
    bool usable = false;  // else there is a pull to wait for, or it has failed
    std::string ref;
    std::optional<cri::Image> image;  // where the runtime was asked for it
    bool pulled = false;              // by a pull whose answer is still to be used
    std::set<std::string> kept_for;   // of it, as in PullMemory
    std::optional<ImageFailure> failed;
  };
  Answer Resolve(const Wanted& wanted);

 private:
  /// Whether the pod may use an image that is there.
  bool MayUse(const std::string& image, const ImageIdentity& local);

  const Context context_;
  SyncOutcome& out_;
};

}  // namespace splitlet::pod_worker
