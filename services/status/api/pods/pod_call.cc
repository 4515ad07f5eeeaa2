#include "services/status/api/pods/pod_call.h"

#include "services/status/pods/phase.h"

namespace splitlet::status {
namespace {

/// A kubelet, or an earlier run of this process, has reported the pod.
bool WasReported(const kube::PodStatus& status) { return status.start_time().seconds() > 0; }

}  // namespace

PodCall NextCall(const PodAtServer& pod, const StatusVersion& status, const PodTarget& target) {
  if (pod.gone) return PodCall::kNone;
  if (pod.sent < status.version || pod.differs || pod.server == nullptr) return PodCall::kWrite;
  return MayBeDeleted(pod, status, target) ? PodCall::kAskFinished : PodCall::kNone;
}

bool MayBeDeleted(const PodAtServer& pod, const StatusVersion& status, const PodTarget& target) {
  if (target.mirror || !status.deletable || pod.gone || pod.server == nullptr) return false;
  const bool asked_to_go =
      pod.server->deleting || (target.shown != nullptr && target.shown->deleting);
  return asked_to_go && pod.sent >= status.version && IsTerminal(pod.server->status.phase());
}

std::shared_ptr<const ServerPod> BaseOf(const PodAtServer& pod, const PodTarget& target) {
  const bool has_version = target.shown != nullptr && !target.shown->version.empty();
  if (pod.server == nullptr || pod.server->uid != target.object.uid) {
    const bool fresh = pod.progress == WriteProgress::kNothing && has_version && target.live &&
                       !WasReported(target.shown->status);
    return fresh ? target.shown : nullptr;
  }
  if (!has_version) return pod.server;
  const auto later = IsLater(target.shown->version, pod.server->version);
  if (!later) return nullptr;
  return *later ? target.shown : pod.server;
}

AfterShown CompareWithShown(const PodAtServer& pod, const StatusVersion& status,
                            const PodTarget& target) {
  if (target.object.uid != pod.uid) return {.call_soon = true};
  if (target.shown == nullptr) return {};
  AfterShown after;
  // Only a list can show an older version.
  after.restored = IsLater(pod.shown_version, target.shown->version).value_or(false);
  const bool known = pod.server != nullptr && !after.restored;
  // Rule 23: an object that was read before the answer to the last patch does not show the patch.
  const bool newer = !known || IsLater(target.shown->version, pod.server->version).value_or(true);
  after.compare = newer && !pod.gone;
  after.call_soon = newer && target.shown->deleting && status.deletable;
  return after;
}

}  // namespace splitlet::status
