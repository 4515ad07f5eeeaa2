#pragma once

/// The API server's objects that pods of this node need: config maps, secrets, claims and tokens
/// while a pod references them; all services and runtime classes.
/// In:      the pods of this node; answers of the API server.
/// Owns:    the references of each pod. The objects are in one member for each kind.
/// Out:     the callback of Start, for each pod that waits for an answer or whose objects changed.
/// Killed:  the next start reads all objects again; mounted volumes keep their content.
/// Threads: the loop's; a view is a value for any.
/// Errors:  those of ObjectSource, in a kubelet's words.
/// Source:  docs/behaviour/objects.md, "From an API server".

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/api_objects/claim_lookups.h"
#include "services/pod-worker/api_objects/pull_accounts.h"
#include "services/pod-worker/api_objects/referenced_objects.h"
#include "services/pod-worker/api_objects/references.h"
#include "services/pod-worker/api_objects/tokens.h"
#include "services/pod-worker/api_objects/watched_collection.h"

namespace splitlet::pod_worker {

class ApiCache {
 public:
  /// A sync waits at most so long for answers, then goes on with what is known.
  static constexpr Duration kWait = 1s;
  /// The first sync of a new pod waits at most so long for its tokens and for the first list of
  /// services and runtime classes. No container starts without them, and a slow server is no
  /// failure to report.
  static constexpr Duration kFirstWait = 10s;
  using OnChange = std::function<void(const std::string& uid)>;

  /// A credential provider plugin may need the pod's service account.
  using NeedsAccount = std::function<bool(const kube::Pod& pod)>;

  ApiCache(ApiContext context, ChangeDetection strategy, NeedsAccount needs_account = {});
  ~ApiCache();
  ApiCache(const ApiCache&) = delete;
  ApiCache& operator=(const ApiCache&) = delete;

  void Start(OnChange on_change);
  /// Holds the objects that the pod references, until Release or another Hold. `order`: the lower
  /// of two pods gets a volume that is for one pod.
  void Hold(const kube::Pod& pod, int64_t order);
  /// A static pod holds nothing here; it only waits for the first list of runtime classes.
  void HoldStatic(const std::string& uid);
  void Release(const std::string& uid);
  bool Holds(const std::string& uid) const { return pods_.contains(uid); }
  /// Before a sync: asks for what is too old. Returns how long the sync has to wait at most; 0: not
  /// at all. `is_new`: nothing of the pod runs.
  Duration Prepare(const std::string& uid, bool is_new);
  /// For a held pod.
  std::shared_ptr<const ObjectSource> View(const std::string& uid);
  /// For a static pod: services and runtime classes of the API server, and all other objects of
  /// `own`, which may be null.
  std::shared_ptr<const ObjectSource> ViewBeside(std::shared_ptr<const ObjectSource> own) const;
  /// Service accounts of held pods, for credential provider plugins.
  AccountSource& accounts() { return pull_accounts_; }

 private:
  struct Pod {
    std::string name_space;
    References names;
    std::set<std::string> accounts;  // its service account, if a plugin may need it
    bool needs_services = false, needs_classes = false;
    std::optional<Clock::Time> waits_since;
  };
  void OnAnswer(const std::string& uid, bool changed);
  void OnCollection();

  bool AreListed(const Pod& pod) const;
  bool RefreshAccounts(const std::string& uid, const Pod& pod, bool is_new);

  const ApiContext context_;
  const NeedsAccount needs_account_;
  OnChange on_change_;
  ApiCalls calls_;
  ReferencedObjects config_maps_, secrets_, accounts_;
  ClaimLookups claims_;
  PodTokens tokens_;
  PullAccounts pull_accounts_;
  WatchedCollection services_, runtime_classes_;
  std::map<std::string, Pod> pods_;  // by UID
};

/// "Watch", "Cache", "Get" of configMapAndSecretChangeDetectionStrategy.
ChangeDetection ChangeDetectionOf(const std::string& strategy);

}  // namespace splitlet::pod_worker
