#pragma once

/// The pods that run on this node according to the views, for eviction and node shutdown.
/// In:    changes of `desired`.
/// Owns:  the limits of local storage of the pods that have some.
/// Out:   nothing.
/// Killed at any line: the views bring the limits back.
/// Threads: loop thread only.
/// Errors: none; a pod whose record cannot be read is never evicted.
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
  /// Both views are live, and `workers` is complete. Before that, a terminating pod could look like
  /// a running one, and a running pod could be missing.
  bool known() const { return desired_.live() && workers_.LiveAndComplete(); }
  /// Some pod has containers and no readable record in `desired`: a process has just started, or
  /// the pod was deleted.
  bool AnyUnread() const;

  /// Pods that have a grant, are not terminating, and may be evicted; without their usage.
  std::vector<Candidate> Evictable() const;
  struct Limited {
    Candidate pod;
    LocalLimits limits;
  };
  /// The evictable pods that have limits of local storage.
  std::vector<Limited> EvictableWithLimits() const;
  /// All pods accepted by `which` that have not ended and whose incarnation is the desired one.
  /// This includes critical, static and terminating pods.
  std::vector<Candidate> NotEnded(
      const std::function<bool(const std::string& uid, int64_t incarnation)>& which) const;
  bool IsActive(const Candidate& pod) const;
  /// Containers of this incarnation may still run.
  bool HasContainers(const std::string& uid, int64_t incarnation) const;
  /// The incarnation is finished, or `workers` does not hold the pod any more.
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
