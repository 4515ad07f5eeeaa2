#pragma once

/// How long a dead container waits before it is started again. A value per pod: copied to the pod's
/// strand, saved to its file before the start that it allows, handed back.
/// Threads: values, any.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Crash-loop back-off"; docs/safety.md, rule 5.

#include <map>
#include <string>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

inline constexpr Duration kBackoffInitial = 10s;
inline constexpr Duration kBackoffReset = 600s;

/// Hex; a changed image or changed resources give another key, and so a fresh back-off.
std::string BackoffKey(const kube::Pod& pod, const kube::Container& container);

class CrashBackoff {
 public:
  struct Entry {
    Duration delay{0};
    Clock::Time advanced_at;
    std::string exited_id;  // the exit that the last advance answered: it is not waited for twice
    // The exit that is waited for, since when: not remembered over a restart.
    std::string waits_for = {};
    Clock::Time waits_since = {};
    bool operator==(const Entry&) const = default;
  };
  struct Exit {
    std::string id;
    Duration age{0};  // since it ended, by wall clocks, never negative
  };

  explicit CrashBackoff(Duration max = 300s) : max_(max) {}
  /// The rest of the wait before the next start after this exit; 0: start now. `delay` is the whole
  /// of it.
  struct Wait {
    Duration left{0}, delay{0};
  };
  Wait WaitAfter(const std::string& key, const Exit& exit, Clock::Time now);
  /// Called before the start that WaitAfter allowed. True: something changed and is to be saved.
  bool Advance(const std::string& key, const Exit& exit, Clock::Time now);

  void Clear() { entries_.clear(); }
  const std::map<std::string, Entry>& entries() const { return entries_; }
  void Restore(const std::string& key, Entry entry) { entries_[key] = std::move(entry); }

 private:
  Duration max_;
  std::map<std::string, Entry> entries_;
};

/// As Go prints a duration of whole seconds: "10s", "1m20s", "5m0s".
std::string FormatSeconds(Duration duration);
/// As Go prints one truncated to milliseconds: "850ms", "1.234s", "2m3.004s".
std::string FormatMillis(Duration duration);

}  // namespace splitlet::pod_worker
