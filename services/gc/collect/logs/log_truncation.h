#pragma once

/// Empties the logs of removed pods while the disk is full, so that such a pod can be ended:
/// pod-worker or the runtime cannot write what they must.
/// In:    "the disk is full" of PressureMonitor, by way of GcService; views `desired`, `workers`
/// and `runtime`. REMOVED is a one-way fact, so that any view of
/// `desired` will do.
/// Owns:  nothing.
/// Out:   emptied files, log lines of them.
/// Killed at any line: the rest goes when the disk is looked at again.
/// Threads: loop thread; files on a strand of their own.
/// Errors: of single files, in the log.
/// Source: docs/safety.md, rule 28.

#include <vector>

#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "services/gc/collect/logs/log_truncator.h"
#include "services/gc/collect/removal_log.h"
#include "services/gc/config.h"

namespace splitlet::v1 {
class DesiredRecord;
class RuntimeRecord;
}  // namespace splitlet::v1

namespace splitlet::gc {

class LogTruncation {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::RuntimeRecord>& runtime;
    RemovalLog& removal_log;
  };
  LogTruncation(const Deps& deps, const GcConfig& config) : deps_(deps), config_(config) {}

  void OnFullDisk();

 private:
  /// Those of which nothing runs any more, or that are overdue.
  std::vector<RemovedPod> EndedPods() const;
  bool HasStopped(const std::string& key) const;

  Deps deps_;
  const GcConfig& config_;
};

}  // namespace splitlet::gc
