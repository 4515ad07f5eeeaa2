#pragma once

/// Which ids of the host the user namespaces of pods map to: for each pod a range of its own.
/// In:      Restore of what the files say; Give, Release.
/// Owns:    the ranges that are given out, each to one pod.
/// Out:     nothing; the file of the pod's worker has its range before anything runs with it.
/// Killed:  the next start restores what the files say. A range that was given and is in no file
///          was used by nobody.
/// Threads: the loop's; ReadIdPool blocks on files.
/// Errors:  a node whose ids cannot be used gives none, and each Give says why: pods that ask for
///          none run all the same.
/// Units:   ids of users, and the same ones of groups.
/// Source:  docs/behaviour/runtime-config.md, "User namespaces"; kubelet userns MakeUserNsManager.

#include <cstdint>
#include <map>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/pod/user_ids.h"

namespace splitlet::pod_worker {

/// Ranges of one length, one after the other.
struct IdPool {
  uint32_t first = 0, ids_per_pod = 0, ranges = 0;
  bool operator==(const IdPool&) const = default;
};

struct IdNeed {
  uint32_t ids_per_pod = 65536;
  int32_t pods = 110;  // at most on this node
};
/// Of a user `kubelet` with ids in /etc/subuid and /etc/subgid those; without that user all but
/// the first `ids_per_pod`, which are the host's own.
StatusOr<IdPool> ReadIdPool(fs::FileSystem& files, const IdNeed& need);

class UserIdRanges {
 public:
  explicit UserIdRanges(StatusOr<IdPool> pool) : pool_(std::move(pool)) {}

  /// Also one that is outside of the pool, as after another configuration.
  void Restore(const std::string& uid, const UserIds& ids);
  /// The same again until it is released. A range that came free is given last.
  StatusOr<UserIds> Give(const std::string& uid);
  void Release(const std::string& uid);

 private:
  bool IsFree(const UserIds& ids) const;

  StatusOr<IdPool> pool_;
  std::map<std::string, UserIds> given_;  // by UID of the pod
  uint32_t next_ = 0;                     // of the pool's ranges, where to look first
};

}  // namespace splitlet::pod_worker
