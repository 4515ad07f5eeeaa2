#pragma once

/// A pod as the runtime shows it now: all its sandboxes and containers, as records. Every string is
/// bounded text, whatever the runtime sends.
/// Threads: any; calls block until the runtime's answers or the deadline.
/// Errors: the runtime's; objects removed during the call are left out.
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

/// A listing of one or all pods, newest first.
struct PodListing {
  Clock::Time listed_at;  // time before the listing began
  std::vector<Sandbox> sandboxes;
  std::vector<Container> containers;
};

/// The newest sandbox gives the pod's name, else the newest container's labels. A pod without
/// objects has only its uid and `listed_at`.
class Observer {
 public:
  struct Deps {
    Reader& reader;
    const Clock& clock;
    TailReader read_tail;  // unset: termination messages stay as the runtime reported them
  };
  explicit Observer(Deps deps) : deps_(std::move(deps)) {}
  /// `known` may be null: an earlier record of this pod. An object in its listed state is copied
  /// from `known` without a call if that state cannot change: a ready sandbox with addresses, a
  /// running or exited container. A sandbox listed as not ready is copied too, because it has no
  /// addresses. `listing` may be null: then the pod is listed. Otherwise it began after the
  /// request.
  StatusOr<v1::ObservedPod> Observe(const std::string& uid, const Deadline& deadline,
                                    const v1::ObservedPod* known = nullptr,
                                    const PodListing* listing = nullptr);
  /// An empty uid selects all pods.
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
  std::string runtime_name_;  // name from the first answer; guarded by mutex_
};

/// Observe for a single inspection, without termination messages.
StatusOr<v1::ObservedPod> ObservePod(Reader& reader, const std::string& uid, const Clock& clock,
                                     const Deadline& deadline);

/// The record of a sandbox or container, with the IPs as reported.
v1::SandboxRecord ToRecord(const Sandbox& sandbox);
v1::ContainerRecord ToRecord(const Container& container);

/// Whether containers of the pod can be in its newest sandbox, and why not.
enum class SandboxCheck {
  kUsable,
  kAbsent,
  kNotReady,      // the newest is not ready, or an older one is ready too
  kOtherNetwork,  // host network and pod network differ
  kNoAddress,
};
SandboxCheck CheckSandbox(const kube::Pod& pod, const v1::ObservedPod& observed);

/// True if this exit also ends all other containers of the pod.
bool RestartsAll(const kube::Container& container, const v1::ContainerRecord& record);

}  // namespace splitlet::cri
