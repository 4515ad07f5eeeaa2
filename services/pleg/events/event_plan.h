#pragma once

/// The decision after a runtime event, and the waits until the runtime shows the event. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Inspection"; docs/design.md, "Runtime events without
/// waiting".

#include <cstddef>
#include <optional>

#include "libs/base/clock.h"
#include "libs/cri/cri.h"
#include "services/pleg/config.h"

namespace splitlet::pleg {

/// The pod of an event, as pleg knows it. The event names the pod, or a listing showed its id.
enum class EventPod {
  kNone,       // no pod has the id
  kUnmanaged,  // no pod has the id, and the object with the id is unmanaged
  kNew,        // the pod was neither listed nor inspected
  kStale,      // the last inspection of the pod failed, or showed nothing
  kCurrent,    // the last inspection succeeded
};

/// Inspections of the pod for earlier events.
enum class EventWaits { kNone, kShort, kLong };

struct EventInputs {
  cri::ContainerEvent::Kind kind;
  EventPod pod = EventPod::kNone;
  bool shown = false;  // the last inspection showed what the event reports
  bool late = false;   // the runtime shows the event only after a while
  EventWaits waits = EventWaits::kNone;
};

enum class EventStep {
  kDrop,
  kRemember,     // until a listing shows which pod has the id
  kInspect,      // immediately, then after the short and the long waits
  kInspectLate,  // after the long waits
  kJoin,         // the waits for an earlier event serve this one too
};
EventStep StepAfter(const EventInputs& event);

/// When the runtime shows the event.
enum class Lateness { kSoon, kLate, kLateIfSandbox };
/// kStopped follows kStopping. containerd 1.6 ends the shim of a sandbox before its CRI shows the
/// end, and its own events, which name no pod, report that end.
Lateness LatenessOf(const cri::ContainerEvent& event);

/// `tries`: how many of the waits are over or left out. No value: all are.
std::optional<Duration> WaitAfter(const PlegConfig& config, size_t tries);

/// True: a single listing serves all pods that wait for an event, instead of an inspection of each.
/// To inspect one pod, the runtime goes through all of its pods. `failing`: listings fail.
bool OneListingServes(size_t waiting_pods, bool failing);

}  // namespace splitlet::pleg
