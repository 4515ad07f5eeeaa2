#pragma once

/// Pods that run here by the views, as eviction and the shutdown of the node need them.
/// In:    changes of `desired`.
/// Owns:  which pods have limits of local storage; nothing of those without.
/// Out:   nothing.
/// Killed at any line: the views bring it back.
/// Threads: loop thread only.
/// Errors: none; a record that cannot be read is of no pod that may go.
/// Source: docs/safety.md, rule 8.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/bus/typed.h"
#include "services/gc/config.h"
#include "services/gc/protect/eviction/local_storage.h"
#include "services/gc/protect/eviction/ranking.h"

namespace splitlet::v1 {
class DesiredRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::gc {

class ActivePods {
 public:
  ActivePods(const bus::View<v1::DesiredRecord>& desired,
             const bus::View<v1::WorkerRecord>& workers, const GcConfig& config)
      : desired_(desired), workers_(workers), config_(config) {}

  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change);
  /// What pod-worker holds is all there, and both views are live. Else a pod that is ending
  /// already could be taken for one that runs, and one that runs for none.
  bool known() const { return desired_.live() && workers_.LiveAndComplete(); }
  /// A pod has containers, and `desired` does not say yet who it is: a process has just started,
  /// or the pod is wanted no more.
  bool AnyUnread() const;

  /// Those that have a grant, do not end, and may be evicted; without figures.
  std::vector<Candidate> Evictable() const;
  struct Limited {
    Candidate pod;
    LocalLimits limits;
  };
  /// Those of them that have limits of their own.
  std::vector<Limited> EvictableWithLimits() const;
  /// All of `which` that have not ended, and are wanted in the same incarnation: critical and
  /// static ones, and those that end already, too.
  std::vector<Candidate> NotEnded(
      const std::function<bool(const std::string& uid, int64_t incarnation)>& which) const;
  bool IsActive(const Candidate& pod) const;
  /// Containers of this incarnation may run yet.
  bool HasContainers(const std::string& uid, int64_t incarnation) const;
  /// Everything of this incarnation has ended and was cleaned up, or nobody knows it any more.
  bool IsGone(const std::string& uid, int64_t incarnation) const;

 private:
  using Which = bool (*)(const v1::WorkerRecord& worker);
  std::optional<Candidate> Read(const std::string& key, Which which) const;
  std::optional<Candidate> ReadEvictable(const std::string& key) const;

  const bus::View<v1::DesiredRecord>& desired_;
  const bus::View<v1::WorkerRecord>& workers_;
  const GcConfig& config_;
  std::map<std::string, LocalLimits> limits_;  // by key
};

}  // namespace splitlet::gc
