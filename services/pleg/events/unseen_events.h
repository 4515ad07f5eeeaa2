#pragma once

/// Runtime events that the runtime does not show yet. An event is a hint: its pod is inspected
/// until the runtime shows what the event reports, or the waits of the configuration are over.
/// In:    events of the runtime; the states of inspected and listed pods.
/// Owns:  the unseen events of each pod, ids that no pod has, ids of unmanaged objects, the pod of
/// each known id.
/// Out:   requests for an inspection, or for one listing when many pods wait.
/// Killed at any line: nothing is lost; the first listing after the start shows everything.
/// Threads: loop thread only.
/// Errors: none; an event that is never shown is dropped.
/// Source: docs/behaviour/relist.md, "Inspection"; docs/design.md, "Runtime events without
/// waiting".

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/exec/exec.h"
#include "services/pleg/config.h"
#include "services/pleg/events/event_plan.h"
#include "services/pleg/listing/lister.h"
#include "services/pleg/listing/relist.h"

namespace splitlet::pleg {

/// The pods as last inspected. Inspector is it.
class InspectedPods {
 public:
  virtual ~InspectedPods() = default;
  virtual bool Contains(const std::string& uid) const = 0;
  /// A pod that is not known yet: the next listing forgets it if it does not show it.
  virtual void Add(const std::string& uid) = 0;
  /// As last inspected, empty before the first inspection; nullptr: the pod is not known.
  virtual const States* FindStates(const std::string& uid) const = 0;
  /// The last inspection succeeded and showed something.
  virtual bool IsCurrent(const std::string& uid) const = 0;
  virtual bool IsInspecting(const std::string& uid) const = 0;
  virtual bool HasSandbox(const std::string& uid, const std::string& id) const = 0;
  virtual void Inspect(const std::string& uid) = 0;
};

class UnseenEvents {
 public:
  static constexpr size_t kMaxUnknownIds = 1000;
  struct Deps {
    exec::EventLoop& loop;
    Lister& lister;
    InspectedPods& pods;
    const PlegConfig& config;
  };
  explicit UnseenEvents(const Deps& deps) : deps_(deps) {}
  ~UnseenEvents();
  UnseenEvents(const UnseenEvents&) = delete;
  UnseenEvents& operator=(const UnseenEvents&) = delete;

  void OnContainerEvent(const cri::ContainerEvent& event);
  /// A listing showed these objects, which no kubelet made.
  void SetUnmanaged(std::set<std::string> ids) { unmanaged_ = std::move(ids); }
  /// An inspection showed `after`; before the pod had `before`.
  void OnStates(const std::string& uid, const States& before, const States& after);
  /// The pod has these ids: events that named one of them before count as the pod's.
  void AdoptIds(const std::string& uid, const States& ids);
  /// After an inspection or a listing: drops the events that are shown, and starts the next wait
  /// for the others. During an inspection nothing happens; its end does it.
  void Continue(const std::string& uid);
  void ContinueAll();
  /// Lists again for the ids that no pod has; an id is dropped after a few listings.
  void ListForUnknownIds();
  bool IsWaiting(const std::string& uid) const;
  void Forget(const std::string& uid) { unseen_.erase(uid); }

 private:
  struct Unseen {
    std::vector<cri::ContainerEvent> events;
    size_t tries = 0;
    exec::TimerId timer = 0;
  };
  struct UnknownId {
    size_t listings = 0;  // since the first event
    cri::ContainerEvent newest;
  };
  static constexpr size_t kMaxEvents = 64;  // of one pod

  /// `uid`: of the pod with the event's id; empty: no pod has it.
  EventInputs InputsOf(const std::string& uid, const cri::ContainerEvent& event) const;
  Unseen& Add(const std::string& uid, const cri::ContainerEvent& event);
  void AddUnknown(const cri::ContainerEvent& event);
  bool IsShown(const std::string& uid, const cri::ContainerEvent& event) const;
  /// `skipped`: the number of waits that are left out.
  void Restart(Unseen& unseen, size_t skipped);
  void InspectOrList(const std::string& uid);

  const Deps deps_;
  std::map<std::string, Unseen> unseen_;          // by UID; never without events
  std::map<std::string, std::string> pod_of_;     // id of a sandbox or container -> UID
  std::map<std::string, UnknownId> unknown_ids_;  // by id; at most kMaxUnknownIds
  std::set<std::string> unmanaged_;               // of the last listing
};

}  // namespace splitlet::pleg
