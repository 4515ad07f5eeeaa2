#pragma once

/// --lock-file: only one kubelet of a machine runs at a time. With --exit-on-lock-contention the
/// next kubelet ends this one by opening the file.
/// Threads: one; Take blocks until the lock is free. Nothing is set up by then, so a signal simply
///          ends the process.
/// Errors:  by errno, with the path; FAILED_PRECONDITION for a file that may belong to another
///          user, who could block the start forever.
/// Killed:  the kernel drops the lock; the file stays. Started programs do not inherit it.
/// Source:  kubelet --lock-file, pkg/util/flock.

#include <functional>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::kubelet {

class NodeLock {
 public:
  /// Creates the file if it is missing; follows no link. `watch`: IsContended works from then on.
  /// `on_wait`: called once with the holder, "process 17", before Take waits.
  using OnWait = std::function<void(const std::string& holder)>;
  static StatusOr<NodeLock> Take(const std::string& path, bool watch, const OnWait& on_wait);

  /// Readable when IsContended may have changed; -1: not watched.
  int watch() const { return watch_.get(); }
  /// True if another process has opened or removed the file since the last call. Does not block.
  bool IsContended();

 private:
  NodeLock(fs::Fd file, fs::Fd watch) : file_(std::move(file)), watch_(std::move(watch)) {}

  fs::Fd file_, watch_;
};

}  // namespace splitlet::kubelet
