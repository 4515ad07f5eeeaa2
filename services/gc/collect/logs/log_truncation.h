#pragma once

/// Truncates the logs of removed pods while the disk is full, so that pod-worker and the runtime
/// can write what the end of these pods needs.
/// In:    OnFullDisk, from PressureMonitor; views `desired`, `workers` and `runtime`. A pod never
/// leaves the state REMOVED, so an outdated view of `desired` does no harm.
/// Owns:  nothing.
/// Out:   truncated files, and log lines about them.
/// Killed at any line: the next inspection of the disk truncates the rest.
/// Threads: loop thread; files on a strand of their own.
/// Errors: those of single files, in the log.
/// Source: docs/safety.md, rule 28.

#include <vector>

#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
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
    exec::Env env;
    fs::FileSystem& files;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::RuntimeRecord>& runtime;
    RemovalLog& removal_log;
  };
  LogTruncation(const Deps& deps, const GcConfig& config)
      : deps_(deps), config_(config), asker_(deps.env.loop, deps.env.strands) {}

  void OnFullDisk();

 private:
  /// Removed pods that run nothing any more, or that are overdue.
  std::vector<RemovedPod> EndedPods() const;
  bool HasStopped(const std::string& key) const;

  Deps deps_;
  const GcConfig& config_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
