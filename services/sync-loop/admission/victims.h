#pragma once

/// Pods that have to end because a critical pod was admitted in their place.
/// In:    saved admissions, from SyncLoopService; questions of PodAdmitter and GrantSender.
/// Owns:  the victims of saved admissions: key and incarnation.
/// Out:   events of the victims.
/// Killed at any line: the victims are in the file of their preemptor's admission; the next start
/// takes them from there.
/// Threads: loop thread only.
/// Errors: none.
/// Source: docs/safety.md, rule 13.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/daemon/service.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/preemption.h"
#include "services/sync-loop/known_pods.h"

namespace splitlet::sync_loop {

inline constexpr std::string_view kPreempting = "Preempting";
inline constexpr std::string_view kPreemptingMessage = "Preempted in order to admit critical pod";

class Victims {
 public:
  Victims(const KnownPods& known, const AdmissionStore& store, daemon::EventRecorder& events)
      : known_(known), store_(store), events_(events) {}

  /// From now on the victims of a saved admission have to end. Their keys: each needs a call.
  std::vector<std::string> Take(const AdmissionStore::Entry& entry);
  /// The wanted incarnation of this pod has to end for another pod.
  bool Contains(const std::string& key) const;
  /// Some have not ended yet.
  bool AreEnding() const;
  void Forget(const std::string& key) { victims_.erase(key); }
  /// Who has to end to fill the needs of `critical`; nothing: no set of pods would do.
  std::optional<std::vector<ActivePod>> Choose(const Needs& needs, const kube::Pod& critical) const;

 private:
  std::vector<ActivePod> Candidates(const kube::Pod& critical) const;

  const KnownPods& known_;
  const AdmissionStore& store_;
  daemon::EventRecorder& events_;
  std::map<std::string, int64_t> victims_;  // key -> incarnation
};

}  // namespace splitlet::sync_loop
