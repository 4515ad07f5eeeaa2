#pragma once

/// The postStart hook that a pod waits for, and the containers whose hook has failed.
/// In:      SyncRunner.
/// Owns:    both, in memory only.
/// Killed:  a container that was started counts as running, as for a kubelet that starts: its hook
///          is not run again.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/behaviour/hooks.md.

#include <memory>
#include <set>
#include <string>

#include "libs/base/cancel.h"

namespace splitlet::pod_worker {

/// A container that was just started and has such a hook.
struct StartedContainer {
  std::string id, name;
  bool init = false;
  std::string pod_ip;
};

class PostStart {
 public:
  /// While a hook runs, nothing else of the pod is started.
  const std::string& waits_for() const { return waits_for_; }  // id; empty: none
  const std::set<std::string>& failed() const { return failed_; }

  std::shared_ptr<CancelToken> Begin(const std::string& id) {
    Cancel();
    waits_for_ = id;
    return cancel_ = std::make_shared<CancelToken>();
  }
  /// The hook is no longer waited for.
  void Cancel() {
    waits_for_.clear();
    if (cancel_ != nullptr) cancel_->Cancel();
    cancel_.reset();
  }
  /// False: it was not waited for.
  bool OnEnded(const std::string& id, bool failed) {
    if (id != waits_for_) return false;
    waits_for_.clear();
    cancel_.reset();
    if (failed) failed_.insert(id);
    return true;
  }
  /// Containers that have ended by now.
  void Forget(const std::set<std::string>& running) {
    std::erase_if(failed_, [&](const std::string& id) { return !running.contains(id); });
  }

 private:
  std::string waits_for_;
  std::shared_ptr<CancelToken> cancel_;
  std::set<std::string> failed_;
};

}  // namespace splitlet::pod_worker
