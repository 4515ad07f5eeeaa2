#pragma once

/// Which objects a pod of this node sees: those of the API server it comes from, or the node's own.
/// In:      pods that are about to be synced; pods that are over.
/// Owns:    of which life and spec of a pod the API cache holds what it names.
/// Out:     what a pod names to the API cache.
/// Killed:  the first sync of each pod says it again.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/behaviour/objects.md.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/pod-worker/objects/api_cache.h"
#include "services/pod-worker/pod/worker.h"

namespace splitlet::pod_worker {

class PodObjects {
 public:
  using OwnView = std::function<std::shared_ptr<const ObjectSource>()>;
  /// `own`: of the node; empty: it has none. `api`: null: this node has no API server.
  PodObjects(OwnView own, ApiCache* api) : own_(std::move(own)), api_(api) {}

  /// Before a sync. How long that has to wait for an answer, at most; 0: not at all.
  Duration Prepare(const Worker& worker);
  /// Nothing of the pod is left.
  void Forget(const std::string& uid);
  /// As they are now; null: there are none for it.
  std::shared_ptr<const ObjectSource> View(const Worker& worker) const;

 private:
  const OwnView own_;
  ApiCache* const api_;
  std::map<std::string, std::pair<int64_t, int64_t>> held_;  // UID -> incarnation, generation
};

}  // namespace splitlet::pod_worker
