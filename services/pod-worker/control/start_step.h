#pragma once

/// Decides the step that comes next for a pod that may run; PodLoop carries it out.
/// In:      PodLoop, whenever a pod in the state `syncing` is woken.
/// Owns:    nothing.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/safety.md, rules 14 to 20.

namespace splitlet::pod_worker {

/// The state of a pod that may run.
struct StartView {
  bool granted = false;         // it has a grant, and the view `desired` is ready
  bool past_deadline = false;   // it was active for activeDeadlineSeconds
  bool held = false;            // gc may be removing what it needs
  bool name_taken = false;      // a static pod; another pod of its full name is not gone
  bool lacks_user_ids = false;  // its user namespace has no ids yet
};

enum class StartStep {
  kNone,         // its grant, or the view `desired`, wakes it
  kEnd,          // its deadline is over: it is killed
  kAwaitHold,    // the end of the hold wakes it
  kAwaitName,    // the end of the other pod wakes it
  kGiveUserIds,  // the save of the ids wakes it
  kSync,
};
StartStep DecideStart(const StartView& view);

}  // namespace splitlet::pod_worker
