#include "services/pod-worker/pod/activity.h"

#include "libs/base/status.h"

namespace splitlet::pod_worker {

namespace {

Activity OnStepEnded(Activity activity) {
  CHECK(IsInStep(activity), "a step ended that was not begun");
  return activity == Activity::kStepAndSaving ? Activity::kSaving : Activity::kIdle;
}

}  // namespace

bool IsInStep(Activity activity) {
  using enum Activity;
  return activity == kStep || activity == kStepThenAgain || activity == kStepAndSaving;
}

bool IsSaving(Activity activity) {
  return activity == Activity::kSaving || activity == Activity::kStepAndSaving;
}

Activity Next(Activity activity, ActivityEvent event) {
  using enum Activity;
  switch (event) {
    case ActivityEvent::kWoken: return activity == kStep ? kStepThenAgain : activity;
    case ActivityEvent::kStepBegun:
      CHECK(activity == kIdle, "a second thing was begun for a pod");
      return kStep;
    case ActivityEvent::kStepEnded: return OnStepEnded(activity);
    case ActivityEvent::kSaveBegun: return IsInStep(activity) ? kStepAndSaving : kSaving;
    case ActivityEvent::kSaved:
      CHECK(IsSaving(activity), "a save ended that was not begun");
      return activity == kStepAndSaving ? kStepThenAgain : kIdle;
  }
  UNREACHABLE();
}

}  // namespace splitlet::pod_worker
