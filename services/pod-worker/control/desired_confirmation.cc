#include "services/pod-worker/control/desired_confirmation.h"

#include <utility>

namespace splitlet::pod_worker {

void DesiredConfirmation::WhenGone(const std::string& uid, const std::string& source,
                                   exec::Task gone) const {
  deps_.env.strands.Run("ask/" + uid, [this, uid, source, gone = std::move(gone)] {
    const auto knows = deps_.owner.Knows(uid, source, After(deps_.env.clock, kAskOwner));
    if (knows.ok() && !*knows) deps_.env.loop.Post(gone);
  });
}

}  // namespace splitlet::pod_worker
