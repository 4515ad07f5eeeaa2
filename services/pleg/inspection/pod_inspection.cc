#include "services/pleg/inspection/pod_inspection.h"

#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

constexpr Duration kStuckAfter = std::chrono::seconds{5};

}  // namespace

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

bool IsGone(const PodInspection& pod, Clock::Time began) {
  return !pod.known || pod.listed_at < began;
}

bool IsStuck(Progress progress, Duration took, const Status& last_error) {
  const bool hangs = progress != Progress::kIdle && took > kStuckAfter;
  return hangs || last_error.code() == StatusCode::kDeadlineExceeded;
}

Acceptance Accept(const States& before, const v1::RuntimeRecord* record,
                  const v1::ObservedPod& observed) {
  using Publish = Acceptance::Publish;
  Acceptance accepted{.begins_trace = AnyEnded(before, StatesOf(observed)),
                      .reason_follows = AnyKilled(before, observed)};
  const bool same = record != nullptr && record->inspect_error().empty() &&
                    ContentOf(record->pod()) == ContentOf(observed);
  if (!same)
    accepted.publish = MakesWork(before, observed) ? Publish::kPutAndSignal : Publish::kPut;
  return accepted;
}

std::optional<v1::RuntimeRecord> WithError(const v1::RuntimeRecord* record, const PodNames& pod,
                                           const std::string& error) {
  v1::RuntimeRecord with_error;
  if (record != nullptr) with_error = *record;
  if (with_error.inspect_error() == error) return std::nullopt;
  with_error.set_inspect_error(error);
  auto& observed = *with_error.mutable_pod();
  observed.set_uid(pod.uid);
  if (observed.name().empty()) {
    observed.set_name(pod.name);
    observed.set_namespace_(pod.name_space);
  }
  return with_error;
}

}  // namespace splitlet::pleg
