#include "chaos/rules/disturbances.h"

#include <algorithm>

namespace splitlet::chaos {
namespace {

/// Allowed in addition to the downtime of a process: its start and its first listing.
constexpr Duration kRestartCost = 3s;

/// The fault can make a stop late.
bool DelaysStops(FaultKind kind, const std::string& target) {
  switch (kind) {
    case FaultKind::kKill:
    case FaultKind::kPause:
    case FaultKind::kDown:
    case FaultKind::kRestart:
    case FaultKind::kUpgrade:
    case FaultKind::kFailPoint: return target == "pod-worker" || target == "containerd";
    case FaultKind::kSlowRuntime:
    case FaultKind::kFillDisk:
    case FaultKind::kLimitMemory:
    case FaultKind::kHangPod:
    case FaultKind::kReboot: return true;
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump:
    case FaultKind::kPartition:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kTakePort:
    case FaultKind::kFlood:
    case FaultKind::kCollect:
    case FaultKind::kBreakManifest:
    case FaultKind::kServerAnswers:
    case FaultKind::kEndWatches: return false;
  }
  UNREACHABLE();
}

bool HitsContainers(FaultKind kind) {
  return kind == FaultKind::kEndContainer || kind == FaultKind::kRemoveContainer;
}

}  // namespace

void Disturbances::Begin(const Action& action, WallTime at) {
  all_.push_back({.kind = action.kind,
                  .target = action.target,
                  .key = KeyOf(action),
                  .from = at,
                  .to = at,
                  .open = action.lasting > Duration{0}});
}

void Disturbances::End(const Action& action, WallTime at) {
  for (auto& d : all_) {
    if (!d.open || d.key != KeyOf(action)) continue;
    d.open = false;
    d.to = at;
  }
}

Duration Disturbances::ExcuseOfStop(WallTime from, WallTime to) const {
  Duration excuse{0};
  for (const auto& d : all_) {
    if (!DelaysStops(d.kind, d.target)) continue;
    const WallTime end = d.open ? to : d.to;
    // A fault that ended shortly before `from` still delays the stop.
    if (end + kRestartCost < from || d.from > to) continue;
    excuse += std::max(Duration{0}, std::min(end, to) - std::max(d.from, from)) + kRestartCost;
  }
  return excuse;
}

bool Disturbances::EndedContainers(const std::string& pod, WallTime from, WallTime to) const {
  return std::ranges::any_of(all_, [&](const Disturbance& d) {
    const bool ends = (HitsContainers(d.kind) && d.target == pod) || d.kind == FaultKind::kReboot;
    return ends && d.from + kRestartCost >= from && d.from <= to;
  });
}

bool Disturbances::HitContainers(const std::string& pod) const {
  return std::ranges::any_of(
      all_, [&pod](const Disturbance& d) { return d.target == pod && HitsContainers(d.kind); });
}

bool Disturbances::KeepsDown(const std::string& process) const {
  return std::ranges::any_of(all_, [&process](const Disturbance& d) {
    const bool keeps_down =
        d.kind == FaultKind::kDown || (d.kind == FaultKind::kTakePort && d.target == "nats");
    return d.open && keeps_down && d.target == process;
  });
}

}  // namespace splitlet::chaos
