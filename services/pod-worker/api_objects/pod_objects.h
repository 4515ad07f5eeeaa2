#pragma once

/// Which API objects a pod of this node sees: those of the API server that the pod comes from, or
/// those of this node's folder.
/// In:      pods before each sync, and pods of which nothing is left.
/// Owns:    which incarnation and generation of each pod the API cache holds references for.
/// Out:     holds and releases in the API cache.
/// Killed:  the first sync of each pod holds its references again.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/behaviour/objects.md.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/pod-worker/api_objects/api_cache.h"
#include "services/pod-worker/pod/worker.h"

namespace splitlet::pod_worker {

class PodObjects {
 public:
  using FolderView = std::function<std::shared_ptr<const ObjectSource>()>;
  /// `folder`: empty: this node has none. `api`: null: this node has no API server.
  PodObjects(FolderView folder, ApiCache* api) : folder_(std::move(folder)), api_(api) {}

  /// Before a sync. Returns how long the sync has to wait for an answer at most; 0: not at all.
  Duration Prepare(const Worker& worker);
  /// Nothing of the pod is left.
  void Forget(const std::string& uid);
  /// The objects as they are now; null: there are none for this pod.
  std::shared_ptr<const ObjectSource> View(const Worker& worker) const;

 private:
  void Hold(const Worker& worker);
  bool AwaitsClass(const kube::Pod& static_pod) const;

  const FolderView folder_;
  ApiCache* const api_;
  std::map<std::string, std::pair<int64_t, int64_t>> held_;  // UID -> incarnation, generation
};

}  // namespace splitlet::pod_worker
