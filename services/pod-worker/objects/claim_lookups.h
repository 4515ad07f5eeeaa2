#pragma once

/// Claims that pods of this node name, with the volumes that they are bound to: read by name, since
/// nobody lists those of a node, until the binding stands. Then it stays as it is.
/// In:      what pods name; answers of the API server.
/// Owns:    claims and volumes, and which pod has a volume that is for one pod.
/// Out:     a GET or two; on_answer for each pod that names the claim.
/// Killed:  the next start reads them again.
/// Threads: the loop's.
/// Errors:  of the answers; UNAVAILABLE: not known yet.
/// Source:  docs/behaviour/volumes.md, "Claims"; kubelet desiredStateOfWorldPopulator.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "services/pod-worker/objects/referenced_objects.h"

namespace splitlet::pod_worker {

class ClaimLookups {
 public:
  struct Found {
    StatusOr<ObjectPtr<Claim>> claim = Unavailable("the API server has not answered yet");
    StatusOr<ObjectPtr<PersistentVolume>> volume =
        Unavailable("the API server has not answered yet");
    bool may_use = true;  // false: another pod has it
  };
  struct Deps {
    const ApiContext& context;
    ApiCalls& calls;
    OnAnswer on_answer;
  };
  explicit ClaimLookups(Deps deps) : deps_(std::move(deps)) {}

  struct Pod {
    std::string uid, name_space;
    int64_t order = 0;  // of two that came together the lower one has what is for one pod
  };
  /// These and no others are what the pod names from now on.
  void Hold(const Pod& pod, const std::set<std::string>& names);
  void Release(const std::string& uid) { Hold({.uid = uid}, {}); }
  /// Asks for what is not bound yet. False: a first answer is waited for.
  bool Refresh(const std::string& uid);
  /// By name of the claim. What is for one pod, and nobody has, has one from now on.
  std::map<std::string, Found> Of(const std::string& uid);

 private:
  struct Entry {
    uint64_t number = 0;
    std::map<std::string, int64_t> pods;  // UID -> order; never empty
    Found found;
    bool asking = false, answered = false;
    Clock::Time answered_at;
    std::string told;  // what pods know of it
    std::string user;  // UID of the pod that has it, if it is for one
  };
  static bool IsBound(const Entry& entry);
  void Ask(const ObjectName& name, Entry& entry);
  void OnClaim(const ObjectName& name, uint64_t number, StatusOr<ObjectPtr<Claim>> claim);
  void OnVolume(const ObjectName& name, uint64_t number,
                StatusOr<ObjectPtr<PersistentVolume>> volume);
  Entry* Find(const ObjectName& name, uint64_t number);
  void OnAnswered(Entry& entry);
  void Tell(const Entry& entry, bool changed);

  const Deps deps_;
  std::map<ObjectName, Entry> entries_;
  std::map<std::string, std::set<ObjectName>> names_;  // by UID of the pod
  uint64_t last_number_ = 0;
};

}  // namespace splitlet::pod_worker
