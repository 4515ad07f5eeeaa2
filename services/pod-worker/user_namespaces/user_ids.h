#pragma once

/// The ids of the host that the user namespaces of pods map to: each pod has its own range.
/// In:      Restore with the ranges in the files; Give, Release.
/// Owns:    the ranges that are given out, each to one pod.
/// Out:     nothing; the range is in the file of the pod's worker before a container runs with it.
/// Killed:  the next start restores the ranges in the files. A range that is in no file was never
///          used.
/// Threads: the loop's; ReadIdPool blocks on files.
/// Errors:  on a node whose ids cannot be used each Give returns the reason. Pods without a user
///          namespace still run.
/// Units:   ids of users; the ids of groups are the same numbers.
/// Source:  docs/behaviour/runtime-config.md, "User namespaces"; kubelet userns MakeUserNsManager.

#include <cstdint>
#include <map>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/pod/user_ids.h"

namespace splitlet::pod_worker {

/// Adjacent ranges of the same length.
struct IdPool {
  uint32_t first = 0, ids_per_pod = 0, ranges = 0;
  bool operator==(const IdPool&) const = default;
};

struct IdNeed {
  uint32_t ids_per_pod = 65536;
  int32_t pods = 110;  // the most pods of this node
};
/// The ids of the user `kubelet` in /etc/subuid and /etc/subgid. Without that user all ids but the
/// first `ids_per_pod`, which are the host's own.
StatusOr<IdPool> ReadIdPool(fs::FileSystem& files, const IdNeed& need);

class UserIdRanges {
 public:
  explicit UserIdRanges(StatusOr<IdPool> pool) : pool_(std::move(pool)) {}

  /// The range may be outside of the pool, as after a change of the configuration.
  void Restore(const std::string& uid, const UserIds& ids);
  /// The same range until Release. A range that became free is given out last.
  StatusOr<UserIds> Give(const std::string& uid);
  void Release(const std::string& uid);

 private:
  bool IsFree(const UserIds& ids) const;

  StatusOr<IdPool> pool_;
  std::map<std::string, UserIds> given_;  // by UID of the pod
  uint32_t next_ = 0;                     // the pool's range to try first
};

}  // namespace splitlet::pod_worker
