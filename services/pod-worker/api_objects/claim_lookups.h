#pragma once

/// The claims that pods of this node reference, and the volumes that they are bound to. Each claim
/// is read by name until it is bound; a binding does not change.
/// In:      the references of pods; answers of the API server.
/// Owns:    claims and volumes, and which pod uses a volume that is for one pod.
/// Out:     a GET of the claim, then of its volume; on_answer for each pod that references the
///          claim.
/// Killed:  the next start reads them again.
/// Threads: the loop's.
/// Errors:  of the answers; UNAVAILABLE: not known yet.
/// Source:  docs/behaviour/volumes.md, "Claims"; kubelet desiredStateOfWorldPopulator.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "services/pod-worker/api_objects/referenced_objects.h"

namespace splitlet::pod_worker {

class ClaimLookups {
 public:
  struct Found {
    StatusOr<ObjectPtr<Claim>> claim = Unavailable("the API server has not answered yet");
    StatusOr<ObjectPtr<PersistentVolume>> volume =
        Unavailable("the API server has not answered yet");
    bool may_use = true;  // false: another pod uses it
  };
  struct Deps {
    const ApiContext& context;
    ApiCalls& calls;
    OnAnswer on_answer;
  };
  explicit ClaimLookups(Deps deps) : deps_(std::move(deps)) {}

  struct Pod {
    std::string uid, name_space;
    int64_t order = 0;  // the lower of two pods gets a volume that is for one pod
  };
  /// Replaces the names of the pod's claims.
  void Hold(const Pod& pod, const std::set<std::string>& names);
  void Release(const std::string& uid) { Hold({.uid = uid}, {}); }
  /// Reads the claims that are not bound yet. False: a first answer is missing.
  bool Refresh(const std::string& uid);
  /// By name of the claim. Gives a free volume that is for one pod to a pod.
  std::map<std::string, Found> Of(const std::string& uid);

 private:
  struct Entry {
    uint64_t number = 0;
    std::map<std::string, int64_t> pods;  // UID -> order; never empty
    Found found;
    bool asking = false, answered = false;
    Clock::Time answered_at;
    std::string reported;  // digest of the answer that pods know
    std::string user;      // UID of the pod that uses a volume for one pod
  };
  static bool IsBound(const Entry& entry);
  void Ask(const ObjectName& name, Entry& entry);
  void OnClaim(const ObjectName& name, uint64_t number, StatusOr<ObjectPtr<Claim>> claim);
  void OnVolume(const ObjectName& name, uint64_t number,
                StatusOr<ObjectPtr<PersistentVolume>> volume);
  Entry* Find(const ObjectName& name, uint64_t number);
  void OnAnswered(Entry& entry);
  void Report(const Entry& entry, bool changed);

  const Deps deps_;
  std::map<ObjectName, Entry> entries_;
  std::map<std::string, std::set<ObjectName>> names_;  // by UID of the pod
  uint64_t last_number_ = 0;
};

}  // namespace splitlet::pod_worker
