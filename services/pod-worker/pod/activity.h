#pragma once

/// What is being done for a pod at this moment: at most one step, and nothing new while a change of
/// its state is on its way to the disk.
/// Threads: pure functions, any.
/// Errors:  none; what cannot happen ends the process.

namespace splitlet::pod_worker {

enum class Activity {
  kIdle,
  kStep,           // a step is on its strand, or containers are being stopped
  kStepThenAgain,  // decide again after it
  kSaving,         // decide when everything is on disk
  kStepAndSaving,
};
enum class ActivityEvent {
  kWoken,  // there may be something to do
  kStepBegun,
  kStepEnded,
  kSaveBegun,
  kSaved,  // nothing is on its way to the disk any more
};

/// Woken and still idle: what comes next may begin. A step that ends in kStepThenAgain, and the end
/// of a save, wake the pod.
Activity Next(Activity activity, ActivityEvent event);

bool IsInStep(Activity activity);
bool IsSaving(Activity activity);

}  // namespace splitlet::pod_worker
