#pragma once

/// The sources of objects that pods name: a folder, an API server, both, or none.
/// In:      changes of the folder and of the API server's objects.
/// Owns:    the folder's objects, the connection to the API server, and the cache of its objects.
/// Out:     reads of the API server; a call for each change.
/// Killed:  the next start reads again.
/// Threads: the loop's.
/// Errors:  of Connect: the kubeconfig cannot be used.
/// Source:  docs/behaviour/objects.md.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/daemon/service.h"
#include "services/pod-worker/api_objects/api_cache.h"
#include "services/pod-worker/config.h"
#include "services/pod-worker/objects/folder_objects.h"

namespace splitlet::pod_worker {

class ObjectSources {
 public:
  /// A folder where the configuration names one.
  ObjectSources(daemon::ServiceContext& context, const Config& config);

  /// To the API server, where this node has one.
  Status Connect(daemon::ServiceContext& context, const Config& config);
  /// `on_change`: of the objects of any pod; `on_pod_change`: of those of one pod.
  void Start(std::function<void()> on_change,
             std::function<void(const std::string& uid)> on_pod_change);

  /// The objects of the folder as they are now; empty: this node has none.
  std::function<std::shared_ptr<const ObjectSource>()> FolderView() const;
  /// Null: this node has no API server.
  ApiCache* api_objects() const { return api_objects_.get(); }
  const ApiContext* api() const { return api_context_ ? &*api_context_ : nullptr; }
  std::vector<std::string> Notes() const;

 private:
  std::unique_ptr<FolderObjects> folder_;  // null: this node has none
  Random jitter_{RandomSeed()};
  std::unique_ptr<apiclient::Transport> transport_;  // null: this node has no API server
  std::optional<ApiContext> api_context_;            // null: the same
  std::unique_ptr<ApiCache> api_objects_;            // null: the same
};

}  // namespace splitlet::pod_worker
