#include "services/pleg/inspection/pod_inspection.h"

namespace splitlet::pleg {

Transition Advance(Progress now, Step step) {
  if (step == Step::kEnded) return {Progress::kIdle, now == Progress::kInspectingOnceMore};
  if (now == Progress::kIdle) return {Progress::kInspecting, true};
  return {Progress::kInspectingOnceMore, false};
}

Comparison Judge(const PodInspection& pod, Clock::Time began, const States& listed) {
  if (!pod.current()) return Comparison::kDiffers;
  if (pod.listed_at >= began) return Comparison::kNewer;
  return pod.states == listed ? Comparison::kSame : Comparison::kDiffers;
}

Age AgeOf(const PodInspection& pod, Clock::Time listed_at) {
  if (pod.absent_at && listed_at < pod.absent_at) return Age::kBeforeAbsence;
  return listed_at >= pod.differs_at ? Age::kCurrent : Age::kBeforeDifference;
}

}  // namespace splitlet::pleg
