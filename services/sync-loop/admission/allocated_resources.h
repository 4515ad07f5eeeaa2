#pragma once

/// The allocated resources of the node, kept from one turn of admission to the next: a turn costs
/// as much as changed since the last one, however many pods the node has.
/// In:    pods whose input of load.h changed, from PodAdmitter.
/// Owns:  what each pod that counts holds, and the sums.
/// Out:   nothing; PodAdmitter reads it.
/// Killed at any line: nothing is lost; after a start every pod is reported as changed.
/// Threads: loop thread only.
/// Errors: none; a pod whose requests cannot be read counts as one pod without requests.
/// Source: docs/safety.md, rule 12.

#include <functional>
#include <set>
#include <string>

#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/load.h"
#include "services/sync-loop/admission/preemption_victims.h"
#include "services/sync-loop/pods/known_pods.h"

namespace splitlet::sync_loop {

/// Where the input of load.h comes from.
struct AllocationInput {
  const KnownPods& known;
  const AdmissionStore& store;
  const PreemptionVictims& victims;
  /// pod-worker may have taken a grant that its record does not show yet.
  const std::function<bool(const std::string& key)>& may_be_granted;
};

Standing StandingOf(const AllocationInput& input, const std::string& key);

class AllocatedResources {
 public:
  explicit AllocatedResources(const AllocationInput& input) : input_(input) {}

  /// The pod's record, its worker, its admission, what runs of it, a call for it, or its choice as
  /// a victim changed.
  void OnChanged(const std::string& key) { changed_.insert(key); }
  /// Brings the sums up to date and drops the reservations of the last turn.
  void BeginTurn();
  /// The pod was admitted in this turn: it holds this from now on.
  void Admit(const std::string& key, const PodRequests& requests);
  /// The pod waits: younger API pods leave it this much in this turn.
  void Reserve(const std::string& key, const PodRequests& requests) {
    now_.reserved.emplace_back(key, requests);
  }
  const Allocation& now() const { return now_; }
  /// Sums up all known pods again. False: the kept sums differed, and are replaced. Not during a
  /// turn.
  bool Check();

 private:
  void Update(const std::string& key);

  const AllocationInput input_;
  Allocation now_;
  std::set<std::string> changed_;
  std::set<std::string> called_;  // time alone may change whether these count
};

/// `load` without the static pods of the same full name: they terminate before this one starts.
NodeLoad WithoutNamesakes(NodeLoad load, const KnownPods& known, const std::string& key);

}  // namespace splitlet::sync_loop
