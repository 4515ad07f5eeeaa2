#include "services/pleg/events/unseen_events.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace splitlet::pleg {
namespace {

// When more pods than this wait for an event to show, one listing serves all of them: to inspect
// one pod, the runtime goes through all of its pods.
constexpr size_t kFew = 4;

/// `tries`: how many of the waits are over or left out. No value: all are.
std::optional<Duration> WaitAfter(const PlegConfig& config, size_t tries) {
  if (tries < config.short_waits.size()) return config.short_waits[tries];
  const size_t long_ones = tries - config.short_waits.size();
  if (long_ones < config.long_waits.size()) return config.long_waits[long_ones];
  return std::nullopt;
}

}  // namespace

UnseenEvents::~UnseenEvents() {
  for (const auto& [uid, unseen] : unseen_) deps_.loop.CancelTimer(unseen.timer);
}

void UnseenEvents::OnContainerEvent(const cri::ContainerEvent& event) {
  using Kind = cri::ContainerEvent::Kind;
  if (event.kind == Kind::kCreated) return;  // its start or the next listing shows it
  std::string uid = event.pod_uid;
  const auto owner = pod_of_.find(event.container_id);
  if (uid.empty() && owner != pod_of_.end()) uid = owner->second;
  if (uid.empty()) {
    // Gone before it was seen, or unmanaged.
    if (event.kind == Kind::kDeleted || unmanaged_.contains(event.container_id)) return;
    return AddUnknown(event);
  }
  if (event.kind == Kind::kDeleted && !deps_.pods.Contains(uid)) return;
  if (deps_.pods.IsCurrent(uid) && IsShown(uid, event)) return;
  deps_.pods.Add(uid);
  const size_t skipped = deps_.config.short_waits.size();
  const auto waiting = unseen_.find(uid);
  const bool short_waits = waiting != unseen_.end() && waiting->second.tries <= skipped;
  Unseen& unseen = Add(uid, event);
  if (!IsShownLate(uid, event)) {
    Restart(unseen, 0);
    return InspectOrList(uid);
  }
  if (short_waits) return;  // for another event; the longer waits follow them
  Restart(unseen, skipped);
  Continue(uid);
}

void UnseenEvents::AddUnknown(const cri::ContainerEvent& event) {
  const auto known = unknown_ids_.find(event.container_id);
  if (known != unknown_ids_.end()) {
    known->second.newest = event;
    return;
  }
  // Beyond the bound an event is forgotten; the listing shows its object nevertheless.
  if (unknown_ids_.size() < kMaxUnknownIds)
    unknown_ids_[event.container_id] = {.listings = 0, .newest = event};
  deps_.lister.ListForUnknown();
}

bool UnseenEvents::IsShown(const std::string& uid, const cri::ContainerEvent& event) const {
  const States* states = deps_.pods.FindStates(uid);
  return states == nullptr ? Shows({}, event) : Shows(*states, event);
}

// kStopped follows kStopping. containerd 1.6 ends the shim of a sandbox before its CRI shows the
// end, and its own events, which name no pod, report that end.
bool UnseenEvents::IsShownLate(const std::string& uid, const cri::ContainerEvent& event) const {
  if (event.kind == cri::ContainerEvent::Kind::kStopping) return true;
  if (event.kind != cri::ContainerEvent::Kind::kStopped || !event.pod_uid.empty()) return false;
  return deps_.pods.HasSandbox(uid, event.container_id);
}

UnseenEvents::Unseen& UnseenEvents::Add(const std::string& uid, const cri::ContainerEvent& event) {
  Unseen& unseen = unseen_[uid];
  if (unseen.events.size() < kMaxEvents) unseen.events.push_back(event);
  return unseen;
}

void UnseenEvents::Restart(Unseen& unseen, size_t skipped) {
  unseen.tries = skipped;
  deps_.loop.CancelTimer(std::exchange(unseen.timer, 0));
}

void UnseenEvents::InspectOrList(const std::string& uid) {
  if (unseen_.size() <= kFew || deps_.lister.failing()) return deps_.pods.Inspect(uid);
  deps_.lister.ListForMany();
}

void UnseenEvents::Continue(const std::string& uid) {
  const auto at = unseen_.find(uid);
  if (at == unseen_.end() || deps_.pods.IsInspecting(uid)) return;
  Unseen& unseen = at->second;
  std::erase_if(unseen.events,
                [&](const cri::ContainerEvent& event) { return IsShown(uid, event); });
  const auto wait = WaitAfter(deps_.config, unseen.tries);
  if (unseen.events.empty() || (unseen.timer == 0 && !wait)) {
    deps_.loop.CancelTimer(unseen.timer);
    unseen_.erase(at);
    return;
  }
  if (unseen.timer != 0) return;
  ++unseen.tries;
  unseen.timer = deps_.loop.RunAfter(*wait, [this, uid] {
    unseen_.at(uid).timer = 0;
    InspectOrList(uid);
  });
}

void UnseenEvents::ContinueAll() {
  std::vector<std::string> uids;
  for (const auto& [uid, unseen] : unseen_) uids.push_back(uid);
  for (const auto& uid : uids) Continue(uid);
}

bool UnseenEvents::IsWaiting(const std::string& uid) const {
  const auto at = unseen_.find(uid);
  return at != unseen_.end() && at->second.timer != 0;
}

void UnseenEvents::OnStates(const std::string& uid, const States& before, const States& after) {
  for (const auto& [id, state] : before) pod_of_.erase(id);
  for (const auto& [id, state] : after) pod_of_[id] = uid;
  AdoptIds(uid, after);
}

void UnseenEvents::AdoptIds(const std::string& uid, const States& ids) {
  if (unknown_ids_.empty()) return;
  for (const auto& [id, state] : ids) {
    const auto unknown = unknown_ids_.extract(id);
    if (unknown.empty()) continue;
    // A short container has ended already, and the runtime may not show that yet.
    Restart(Add(uid, unknown.mapped().newest), 0);
  }
}

void UnseenEvents::ListForUnknownIds() {
  std::optional<Duration> soonest;
  for (auto it = unknown_ids_.begin(); it != unknown_ids_.end();) {
    if (pod_of_.contains(it->first) || unmanaged_.contains(it->first) ||
        it->second.listings >= deps_.config.list_again.size()) {
      it = unknown_ids_.erase(it);
      continue;
    }
    const Duration wait = deps_.config.list_again[it->second.listings++];
    soonest = std::min(soonest.value_or(wait), wait);
    ++it;
  }
  if (soonest) deps_.lister.ListForUnknown(*soonest);
}

}  // namespace splitlet::pleg
