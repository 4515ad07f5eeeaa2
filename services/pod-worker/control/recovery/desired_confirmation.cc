#include "services/pod-worker/control/recovery/desired_confirmation.h"

#include <utility>

namespace splitlet::pod_worker {

void DesiredConfirmation::WhenGone(const std::string& uid, const std::string& source,
                                   exec::Task gone) const {
  asker_.Ask(
      "ask/" + uid,
      [&owner = deps_.owner, &clock = deps_.env.clock, uid, source] {
        return owner.Knows(uid, source, After(clock, kAskOwner));
      },
      [gone = std::move(gone)](const StatusOr<bool>& knows) {
        if (knows.ok() && !*knows) gone();
      });
}

}  // namespace splitlet::pod_worker
