#pragma once

/// Takes what pods ask of their volumes on the strands of pods, and hands it to the loop. The
/// answer waits here until the pod asks again.
/// Owns:    the answers that no pod has taken, and which pods wait for one.
/// Out:     the inbox, on the loop; `wake` for a pod that waits.
/// Killed:  pods ask again.
/// Threads: any; On... and the inbox on the loop.
/// Errors:  those of the answers; a failure is given once.
/// Source:  docs/design.md, "Threads and time".

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "libs/exec/ask.h"
#include "libs/exec/shared_value.h"
#include "services/pod-worker/volumes/csi/wish.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class MountDesk {
 public:
  struct Inbox {
    /// `again`: the volume is mounted, and its driver may want another publish.
    std::function<void(const PodVolumeKey&, Wish, bool again)> on_wish;
    std::function<void(const PodVolumeKey&, const std::string& directory)> on_unmount;
    std::function<void(const std::string& uid)> on_release;
    std::function<void(const std::string& uid)> wake;
  };
  MountDesk(exec::EventLoop& loop, exec::Strands& strands, Inbox inbox)
      : loop_(loop), inbox_(std::move(inbox)), asker_(loop, strands) {}

  /// `for_start`: a mounted volume is good enough, though its last publish may have failed.
  SetUpResult Mount(const PodVolumeKey& key, Wish wish, bool for_start);
  StatusOr<Progress> Unmount(const PodVolumeKey& key, const std::string& directory);
  /// The pod wants no volume any more, and none is being mounted for it.
  StatusOr<Progress> Release(const std::string& uid);

  void OnMounted(const PodVolumeKey& key, const SetUpResult& result);
  void OnUnmounted(const PodVolumeKey& key, const Status& result);
  void OnReleased(const std::string& uid);

 private:
  struct Mounting {
    bool mounted = false, waits = false;
    std::optional<SetUpResult> failed = std::nullopt;
  };
  struct Leaving {
    std::optional<Status> answer = std::nullopt;  // unset: it is awaited
  };
  struct Pods {
    std::map<PodVolumeKey, Mounting> mounting;
    std::map<PodVolumeKey, Leaving> leaving;
    std::set<std::string> releasing, released;  // UIDs
  };
  void Post(exec::Task task) { loop_.Post(asker_.Guard(std::move(task))); }

  exec::EventLoop& loop_;
  const Inbox inbox_;
  exec::SharedValue<Pods> pods_;
  exec::Asker asker_;
};

}  // namespace splitlet::pod_worker
