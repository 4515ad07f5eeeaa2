#include "services/pleg/events/event_plan.h"

#include "libs/base/status.h"

namespace splitlet::pleg {
namespace {

using Kind = cri::ContainerEvent::Kind;

constexpr size_t kFew = 4;

}  // namespace

EventStep StepAfter(const EventInputs& event) {
  if (event.kind == Kind::kCreated) return EventStep::kDrop;  // its start or a listing shows it
  const bool deleted = event.kind == Kind::kDeleted;
  switch (event.pod) {
    case EventPod::kUnmanaged: return EventStep::kDrop;
    // Deleted: the object was gone before it was seen.
    case EventPod::kNone: return deleted ? EventStep::kDrop : EventStep::kRemember;
    case EventPod::kNew:
      if (deleted) return EventStep::kDrop;
      break;
    case EventPod::kStale: break;
    case EventPod::kCurrent:
      if (event.shown) return EventStep::kDrop;
      break;
  }
  if (!event.late) return EventStep::kInspect;
  return event.waits == EventWaits::kShort ? EventStep::kJoin : EventStep::kInspectLate;
}

Lateness LatenessOf(const cri::ContainerEvent& event) {
  if (event.kind == Kind::kStopping) return Lateness::kLate;
  const bool names_no_pod = event.pod_uid.empty();
  return event.kind == Kind::kStopped && names_no_pod ? Lateness::kLateIfSandbox : Lateness::kSoon;
}

std::optional<Duration> WaitAfter(const PlegConfig& config, size_t tries) {
  if (tries < config.short_waits.size()) return config.short_waits[tries];
  const size_t long_ones = tries - config.short_waits.size();
  if (long_ones < config.long_waits.size()) return config.long_waits[long_ones];
  return std::nullopt;
}

bool OneListingServes(size_t waiting_pods, bool failing) { return waiting_pods > kFew && !failing; }

}  // namespace splitlet::pleg
