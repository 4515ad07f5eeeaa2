#pragma once

/// Decides what gc may remove now, and keeps pod-worker from starting anything of those pods.
/// In:      HoldForRemoval and ReleaseHold from gc, holds on disk.
/// Owns:    holds, each for 60 s.
/// Out:     listings of the runtime; a file for each hold, before gc gets the answer.
/// Killed:  the files of this boot bring each hold back for the rest of its time.
/// Threads: the loop's, but for listings and files.
/// Errors:  UNAVAILABLE and the runtime's for a hold; a file that cannot be forgotten is logged.
/// Source:  docs/safety.md, rule 25.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/control/hold.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/termination/stopped_sandboxes.h"

namespace splitlet::v1 {
class SavedHold;
class HoldReply;
class HoldRequest;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class RemovalHolds {
 public:
  using Done = std::function<void(StatusOr<v1::HoldReply>)>;
  struct Deps {
    exec::Env env;
    cri::Reader& reader;
    const DiskRecords& records;
    StoppedSandboxes& stopped_sandboxes;
    Duration request_timeout;
    std::function<PodNeed(const std::string& uid)> need;
    PodAdvancer& pods;
  };
  explicit RemovalHolds(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  void OnRead(const std::map<std::string, v1::SavedHold>& on_disk);
  void OnHoldForRemoval(const v1::HoldRequest& request, Done done);
  /// Also when its time is over.
  void OnReleaseHold(const std::string& hold_id);
  /// Until when nothing may be started for the pod; no time: not held.
  Clock::Time HeldUntil(const std::string& uid) const;

 private:
  struct Hold {
    std::set<std::string> uids;
    Clock::Time until;
  };
  struct Listed {
    std::vector<cri::Sandbox> sandboxes;
    std::vector<cri::Container> containers;
  };
  static StatusOr<Listed> List(cri::Reader& reader, const Deadline& deadline);
  void Answer(const v1::HoldRequest& request, const Listed& listed, const Done& done);
  void Add(const std::string& hold_id, Hold hold);

  const Deps deps_;
  std::map<std::string, Hold> holds_;  // by id
  uint64_t last_hold_ = 0;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
