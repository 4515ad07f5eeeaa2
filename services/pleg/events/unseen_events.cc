#include "services/pleg/events/unseen_events.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace splitlet::pleg {

UnseenEvents::~UnseenEvents() {
  for (const auto& [uid, unseen] : unseen_) deps_.loop.CancelTimer(unseen.timer);
}

EventInputs UnseenEvents::InputsOf(const std::string& uid, const cri::ContainerEvent& event) const {
  EventInputs inputs{.kind = event.kind};
  if (uid.empty()) {
    if (unmanaged_.contains(event.container_id)) inputs.pod = EventPod::kUnmanaged;
    return inputs;
  }
  inputs.pod = EventPod::kNew;
  if (deps_.pods.Contains(uid)) inputs.pod = EventPod::kStale;
  if (deps_.pods.IsCurrent(uid)) inputs.pod = EventPod::kCurrent;
  inputs.shown = IsShown(uid, event);
  const Lateness lateness = LatenessOf(event);
  inputs.late = lateness == Lateness::kLate || (lateness == Lateness::kLateIfSandbox &&
                                                deps_.pods.HasSandbox(uid, event.container_id));
  if (const auto waiting = unseen_.find(uid); waiting != unseen_.end())
    inputs.waits = waiting->second.tries <= deps_.config.short_waits.size() ? EventWaits::kShort
                                                                            : EventWaits::kLong;
  return inputs;
}

void UnseenEvents::OnContainerEvent(const cri::ContainerEvent& event) {
  std::string uid = event.pod_uid;
  if (const auto owner = pod_of_.find(event.container_id); uid.empty() && owner != pod_of_.end())
    uid = owner->second;
  const EventStep step = StepAfter(InputsOf(uid, event));
  if (step == EventStep::kDrop) return;
  if (step == EventStep::kRemember) return AddUnknown(event);
  deps_.pods.Add(uid);
  Unseen& unseen = Add(uid, event);
  if (step == EventStep::kInspect) {
    Restart(unseen, 0);
    InspectOrList(uid);
  } else if (step == EventStep::kInspectLate) {
    Restart(unseen, deps_.config.short_waits.size());
    Continue(uid);
  }
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
  if (OneListingServes(unseen_.size(), deps_.lister.failing())) return deps_.lister.ListForMany();
  deps_.pods.Inspect(uid);
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
