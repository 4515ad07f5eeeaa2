#pragma once

/// The files of pod-worker: one small file per pod and kind, replaced whole.
/// Threads: any; calls block on the disk.
/// Errors:  those of the disk. A file of a higher schema level makes its pod unknown until it is
///          put aside. So does a broken one with the state of a pod or its end, or with a grant of
///          no pod. A broken one of back-offs, holds or addresses is reported.
/// Source:  docs/safety.md, rules 3 and 27.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/bus/boot_time.h"
#include "libs/cri/incarnation.h"
#include "libs/fs/record_store.h"
#include "services/pod-worker/pod/restarts.h"

namespace splitlet::v1 {
class SavedHold;
class SavedPod;
class SavedProbes;
class SavedWorker;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// The strand on which the files of this pod are written. Few strands for all pods, so that a node
/// whose pods all change at the same time needs few threads.
std::string RecordsStrand(const std::string& uid);

struct SavedRestarts {
  RestartState state;
  int64_t incarnation = 0;  // 0: of a version that did not write it
};
struct SavedStartedAttempts {
  cri::StartedAttempts attempts;
  int64_t incarnation = 0;
};

class DiskRecords {
 public:
  DiskRecords(fs::FileSystem& files, const Clock& clock, const std::string& run_dir,
              const std::string& state_dir);

  struct All {
    std::vector<v1::SavedWorker> workers;
    std::map<std::string, SavedRestarts> restarts;                 // by key
    std::map<std::string, v1::SavedHold> holds;                    // by hold id
    std::map<std::string, SavedStartedAttempts> started_attempts;  // by UID
    std::vector<v1::SavedPod> permanent;
    std::vector<v1::SavedProbes> probes;
    std::vector<std::string> node_ips;  // last published by status; empty: none in this boot
    struct Unknown {
      std::string why;
      std::vector<const fs::RecordStore*> stores;  // that hold a file which cannot be used
    };
    std::map<std::string, Unknown> unknown;  // by key; nothing else is here of these pods
    std::vector<std::string> problems;       // for the log
    All();
    ~All();
    All(All&&) noexcept;
    All& operator=(All&&) noexcept;
  };
  /// `max_backoff` as in CrashBackoff.
  StatusOr<All> ReadAll(Duration max_backoff) const;
  /// The new paths of the files that make a pod unknown; one that is gone is left out.
  StatusOr<std::vector<std::string>> PutAside(const std::string& key,
                                              const All::Unknown& unknown) const;

  /// A record that ends a pod, or is needed to end it, is saved on a full disk too.
  Status SaveWorker(const v1::SavedWorker& saved) const;
  /// `sync`: not even a power cut loses it.
  Status SavePermanent(const v1::SavedPod& saved, bool sync) const;
  Status SaveRestart(const std::string& uid, int64_t incarnation, const RestartState& state) const;
  /// A file of its own, for ever and never synced: it is written by the pod's strand, while the
  /// terminal status of the pod may be on its way to the other file.
  Status SaveStartedAttempts(const std::string& uid, int64_t incarnation,
                             const cri::StartedAttempts& begun) const;
  Status SaveProbes(const v1::SavedProbes& saved) const;
  Status SaveHold(const std::string& hold_id, const v1::SavedHold& saved) const;
  Status SaveNodeIps(const std::vector<std::string>& ips) const;
  /// Makes directories and reserves where they are missing. Now and then.
  Status KeepRoom() const;
  /// On a full disk: the runtime too has to write before it can report that a container has ended.
  Status GiveRoom() const;
  Status ForgetWorker(const std::string& uid) const;  // and its restarts and probes
  Status ForgetProbes(const std::string& uid) const;
  Status ForgetPermanent(const std::string& uid) const;  // and what has begun
  Status ForgetHold(const std::string& hold_id) const;

 private:
  fs::RecordStore workers_, restarts_, probes_, holds_, node_, permanent_, begun_;
};

using bus::FromProto;
using bus::ToProto;

}  // namespace splitlet::pod_worker
