#include "services/pod-worker/control/recovery/left_volumes.h"

#include "services/pod-worker/termination/stop_order.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

void LeftVolumes::TearDown(const std::string& uid, const Done& done) {
  if (!deps_.pods.IsHeld(uid)) return done(FailedPrecondition("no hold names the pod"));
  if (deps_.env.strands.Pending(uid) > 0) return done(Unavailable("the pod is worked on"));
  Begin(uid, done);
}

/// No call waits for the answer: gc sees what is left.
void LeftVolumes::OnProgramEnded(const std::string& uid) {
  if (under_way_.erase(uid) > 0) Begin(uid, [](const StatusOr<Progress>&) {});
}

/// Everything that begins for the pod from now on comes after it on the strand.
void LeftVolumes::Begin(const std::string& uid, const Done& done) {
  if (!deps_.is_over(uid)) return done(FailedPrecondition("the pod is not over"));
  under_way_.insert(uid);
  deps_.env.strands.Run(uid, [this, uid, done] {
    const auto gone = TearDownNow(uid);
    if (!gone.ok() || *gone == Progress::kDone)
      deps_.env.loop.Post([this, uid] { under_way_.erase(uid); });
    done(gone);
  });
}

StatusOr<Progress> LeftVolumes::TearDownNow(const std::string& uid) const {
  ASSIGN_OR_RETURN(const bool ours, deps_.volumes.IsMarked(uid), "mark of the pod");
  if (!ours) return FailedPrecondition("nothing says that the pod is of this node");
  const auto left = deps_.runtime.Inspect(uid);
  RETURN_IF_ERROR(left, "inspect the pod");
  if (MayUseVolumes(*left))
    return FailedPrecondition("a container or a sandbox of the pod may use them");
  return deps_.volumes.TearDown(uid, "");
}

}  // namespace splitlet::pod_worker
