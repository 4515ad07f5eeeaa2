#pragma once

/// The log directory of a pod: directories of its containers, links to their logs for readers of
/// the node, and the attempts that the names of log files show.
/// Threads: that of the sync; blocks on the disk.
/// Errors:  of MakeLogDir; all others are logged.
/// Source:  docs/behaviour/pod-sync.md, "Steps".

#include <cstdint>
#include <string>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/node_info.h"

namespace splitlet::v1 {
class ContainerRecord;
}

namespace splitlet::pod_worker {

/// Makes a directory for logs of a pod. A program with the logs mounted may have put a link in its
/// place: no link is followed.
Status MakeLogDir(fs::FileSystem& files, const NodeInfo& node, const std::string& path);

/// The attempt after those that have a log file in `dir`.
uint32_t NextAttemptFromLogs(fs::FileSystem& files, const std::string& dir);

class ContainerLogs {
 public:
  struct Deps {
    fs::FileSystem& files;
    const NodeInfo& node;
    const Log& log;
  };
  ContainerLogs(Deps deps, const kube::Pod& pod) : deps_(deps), pod_(pod) {}

  struct Container {
    std::string name, id;
  };
  /// Where this node has links to the logs of containers.
  void Link(const Container& container, const std::string& log) const;
  /// With what was rotated away, and the link.
  void Remove(const v1::ContainerRecord& record) const;

 private:
  std::string LinkOf(const Container& container) const;

  const Deps deps_;
  const kube::Pod& pod_;
};

}  // namespace splitlet::pod_worker
