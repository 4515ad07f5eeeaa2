#pragma once

/// A pod as the runtime shows it now: all its sandboxes and containers, as records. Every string is
/// text and bounded, whatever the runtime says.
/// Threads: any; calls block until the runtime's answers or the deadline.
/// Errors: the runtime's; what is removed between listing and looking is left out.
/// Source: docs/behaviour/relist.md, "Inspection"; kuberuntime GetPodStatus.

#include <mutex>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/cri/termination_message.h"
#include "libs/kube/pod_types.h"

namespace splitlet::v1 {
class ContainerRecord;
class ObservedPod;
class SandboxRecord;
}  // namespace splitlet::v1

namespace splitlet::cri {

/// What a listing shows of one pod or of all, newest first.
struct PodListing {
  Clock::Time listed_at;  // before it began
  std::vector<Sandbox> sandboxes;
  std::vector<Container> containers;
};

/// Identity is taken from the newest sandbox, else from the newest container's labels. A pod that
/// the runtime does not know is one with its uid and `listed_at` only.
class Observer {
 public:
  struct Deps {
    Reader& reader;
    const Clock& clock;
    TailReader read_tail;  // unset: termination messages stay as the runtime gives them
  };
  explicit Observer(Deps deps) : deps_(std::move(deps)) {}
  /// `known` may be null: an earlier answer for this pod. What the listing shows in the state of
  /// then, and says nothing new in that state (a ready sandbox with its addresses, a running or
  /// exited container), is taken from it and not asked for; nor is a sandbox that is listed as not
  /// ready, which has no addresses any more.
  /// `listing` may be null: the pod is listed. Else it began after the answer was asked for.
  StatusOr<v1::ObservedPod> Observe(const std::string& uid, const Deadline& deadline,
                                    const v1::ObservedPod* known = nullptr,
                                    const PodListing* listing = nullptr);
  /// Without uid: of all pods.
  StatusOr<PodListing> List(const std::string& uid, const Deadline& deadline);

 private:
  struct Look {
    const Deadline& deadline;
    const v1::ObservedPod* known;
  };
  StatusOr<std::string> RuntimeName(const Deadline& deadline);
  Status AddSandboxes(const std::vector<Sandbox>& listed, const Look& look, v1::ObservedPod& pod);
  Status AddContainers(const std::vector<Container>& listed, const Look& look,
                       v1::ObservedPod& pod);

  Deps deps_;
  std::mutex mutex_;
  std::string runtime_name_;  // as first answered; guarded by mutex_
};

/// The same for one look, without termination messages.
StatusOr<v1::ObservedPod> ObservePod(Reader& reader, const std::string& uid, const Clock& clock,
                                     const Deadline& deadline);

/// What a sandbox or container says of itself. Sandboxes: IPs as reported.
v1::SandboxRecord ToRecord(const Sandbox& sandbox);
v1::ContainerRecord ToRecord(const Container& container);

/// Whether the newest sandbox of a pod is one that its containers can be in, and why not.
enum class SandboxCheck {
  kUsable,
  kAbsent,
  kNotReady,      // or an older one is ready too
  kOtherNetwork,  // than the pod asks for: the host's or its own
  kNoAddress,
};
SandboxCheck CheckSandbox(const kube::Pod& pod, const v1::ObservedPod& observed);

/// This end of the container takes all others of its pod along.
bool RestartsAll(const kube::Container& container, const v1::ContainerRecord& record);

}  // namespace splitlet::cri
