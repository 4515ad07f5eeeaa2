#pragma once

/// Which pods are orphans: runtime pods without any record, and workers without a record in
/// `desired`. ComputeSuspect decides about one pod in one pass. A suspect is certain when two
/// passes show the same; then OrphanKiller asks config-source.
/// In:    the suspects of a pass. A pass needs live and complete views.
/// Owns:  since when each suspect is the same.
/// Threads: one at a time.
/// Errors: none.
/// Source: docs/safety.md, rules 8 and 10.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "services/sync-loop/pods/pod_digests.h"

namespace splitlet::sync_loop {

inline constexpr Duration kBetweenPasses = std::chrono::seconds{2};

struct OrphanOptions {
  std::string node_annotation;  // the value that the sandboxes of this node have
  bool kill_unmanaged = false;
};

/// The ids of the sandboxes that may be killed: those of this node; with kill_unmanaged all.
std::vector<std::string> OwnSandboxes(const RuntimeDigest& pod, const OrphanOptions& options);

/// All that is known of one UID, under live and complete views.
struct OrphanInput {
  bool desired = false;                    // `desired` has a record
  bool unreadable = false;                 // its saved admission
  bool vouched = true;                     // pleg's listing covers the pod
  const WorkerDigest* worker = nullptr;    // nullptr: it has none
  const RuntimeDigest* runtime = nullptr;  // nullptr: the runtime shows nothing of it
};

/// A pod that may be an orphan, and what has to be the same in two passes.
struct Suspect {
  std::string key;
  int64_t incarnation = 0;             // of the worker; 0: a pod without a worker
  std::vector<std::string> sandboxes;  // of a pod without a worker
  bool operator==(const Suspect&) const = default;
};
/// Nothing: the pod is no suspect in this pass.
std::optional<Suspect> ComputeSuspect(const std::string& key, const OrphanInput& input,
                                      const OrphanOptions& options);

/// The runtime shows a pod without any record, and no sandbox of it may be killed.
bool IsUnmanaged(const OrphanInput& input, const OrphanOptions& options);

class OrphanWatch {
 public:
  /// The suspects that were the same in an earlier pass, at least kBetweenPasses ago.
  std::vector<Suspect> Pass(const std::vector<Suspect>& suspects, Clock::Time now);
  /// The views do not allow a pass: two passes are needed again.
  void Reset() { seen_.clear(); }
  /// A kill was sent: two more passes are needed before the next one.
  void Restart(const std::string& key) { seen_.erase(key); }

 private:
  struct Seen {
    Suspect suspect;
    Clock::Time first;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace splitlet::sync_loop
