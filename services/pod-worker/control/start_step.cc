#include "services/pod-worker/control/start_step.h"

namespace splitlet::pod_worker {

StartStep DecideStart(const StartView& view) {
  using enum StartStep;
  if (!view.granted) return kNone;
  if (view.past_deadline) return kEnd;
  if (view.held) return kAwaitHold;
  if (view.name_taken) return kAwaitName;
  return view.lacks_user_ids ? kGiveUserIds : kSync;
}

}  // namespace splitlet::pod_worker
