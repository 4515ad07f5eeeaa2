#pragma once

/// Which pods run although nobody wants them: runtime pods without any record, and workers without
/// one in `desired`. It takes two passes, and then OrphanKiller asks config-source again.
/// In:    the suspects of a pass; a pass may only be made while every view it rests on is live and
/// complete.
/// Owns:  since when each suspect has been the same.
/// Threads: one at a time.
/// Errors: none.
/// Source: docs/safety.md, rules 8 and 10.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "services/sync-loop/pod_digests.h"

namespace splitlet::sync_loop {

inline constexpr Duration kBetweenPasses = std::chrono::seconds{2};

struct OrphanOptions {
  std::string node_annotation;  // of sandboxes made here
  bool kill_unmanaged = false;
};

/// The ids of the sandboxes that may be killed: made here, or any with kill_unmanaged.
std::vector<std::string> OwnSandboxes(const RuntimeDigest& pod, const OrphanOptions& options);

class OrphanWatch {
 public:
  struct Suspect {
    std::string key;
    int64_t incarnation = 0;             // of the worker; 0: a runtime pod
    std::vector<std::string> sandboxes;  // of a runtime pod
    bool operator==(const Suspect&) const = default;
  };
  /// The suspects of a pass that were the same in an earlier pass, at least kBetweenPasses ago.
  std::vector<Suspect> Pass(const std::vector<Suspect>& suspects, Clock::Time now);
  /// The views do not allow a pass: counting starts anew.
  void Reset() { seen_.clear(); }
  /// Acted on: it takes two more passes to be certain again.
  void Restart(const std::string& key) { seen_.erase(key); }

 private:
  struct Seen {
    Suspect suspect;
    Clock::Time first;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace splitlet::sync_loop
