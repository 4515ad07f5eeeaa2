#pragma once

/// --lock-file: one kubelet of a machine at a time; and with --exit-on-lock-contention a way for
/// the next one to have this one leave, by opening the file.
/// Threads: one; Take blocks until the lock is free. Nothing is set up by then: a signal ends the
///          process.
/// Errors:  by errno, with the path; FAILED_PRECONDITION for a file that may be another user's, who
///          could hold the start up for ever.
/// Killed:  the kernel drops the lock; the file stays. Programs that are started do not have it.
/// Source:  kubelet --lock-file, pkg/util/flock.

#include <functional>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::kubelet {

class NodeLock {
 public:
  /// Makes the file where it is missing; follows no link. `watch`: from then on whoever opens or
  /// removes it is seen. `on_wait`: told once who holds it, "process 17", before it waits.
  using OnWait = std::function<void(const std::string& holder)>;
  static StatusOr<NodeLock> Take(const std::string& path, bool watch, const OnWait& on_wait);

  /// Readable when the file may be contended; -1: nobody looks.
  int watch() const { return watch_.get(); }
  /// Whether somebody has opened or removed the file since the last question. Does not block.
  bool IsContended();

 private:
  NodeLock(fs::Fd file, fs::Fd watch) : file_(std::move(file)), watch_(std::move(watch)) {}

  fs::Fd file_, watch_;
};

}  // namespace splitlet::kubelet
