#pragma once

/// The pods that are killed because a critical pod was admitted in their place.
/// In:    saved admissions, from SyncLoopService. PodAdmitter and GrantSender read it.
/// Owns:  the victims of saved admissions: key and incarnation.
/// Out:   an event for each victim.
/// Killed at any line: the file of the preemptor's admission names its victims; the next start
/// reads them there.
/// Threads: loop thread only.
/// Errors: none.
/// Source: docs/safety.md, rule 13.

#include <map>
#include <string>
#include <vector>

#include "libs/daemon/service.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/preemption.h"
#include "services/sync-loop/pods/known_pods.h"

namespace splitlet::sync_loop {

inline constexpr std::string_view kPreempting = "Preempting";
inline constexpr std::string_view kPreemptingMessage = "Preempted in order to admit critical pod";

class PreemptionVictims {
 public:
  PreemptionVictims(const KnownPods& known, const AdmissionStore& store,
                    daemon::EventRecorder& events)
      : known_(known), store_(store), events_(events) {}

  /// The victims of a saved admission are to be killed from now on. Returns their keys: each needs
  /// a call.
  std::vector<std::string> Add(const AdmissionStore::Entry& entry);
  /// The wanted incarnation of this pod is a victim.
  bool Contains(const std::string& key) const;
  /// Some victim has not terminated yet.
  bool AreEnding() const;
  void Forget(const std::string& key) { victims_.erase(key); }
  /// The pods that `critical` may preempt.
  std::vector<ActivePod> Candidates(const kube::Pod& critical) const;

 private:
  const KnownPods& known_;
  const AdmissionStore& store_;
  daemon::EventRecorder& events_;
  std::map<std::string, int64_t> victims_;  // key -> incarnation
};

}  // namespace splitlet::sync_loop
