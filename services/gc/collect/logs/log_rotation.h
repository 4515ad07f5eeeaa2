#pragma once

/// Decides which containers' logs are inspected, and when.
/// In:    the records of `runtime`, a timer.
/// Out:   inspections on strands of their own. A new log is inspected after a second, a log that
/// grows quickly before it would be full. An outdated record does no harm: the runtime refuses to
/// reopen the log of a container that no longer runs.
/// Killed at any line: the first inspection of each log finishes an interrupted rotation.
/// Threads: loop thread only.
/// Errors: logged once for each container, and again when the error changes.

#include <map>
#include <memory>
#include <string>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/gc/collect/logs/log_rotator.h"
#include "services/gc/config.h"
#include "services/gc/metrics.h"

namespace splitlet::v1 {
class RuntimeRecord;
}  // namespace splitlet::v1

namespace splitlet::gc {

class LogRotation {
 public:
  struct Deps {
    exec::Env env;
    LogRotatorDeps rotator;
    GcMetrics& metrics;
    /// Whether splitlet runs the pod with this key: logs of unmanaged pods are not touched.
    std::function<bool(const std::string& key)> is_ours;
  };
  LogRotation(Deps deps, const GcConfig& config);
  ~LogRotation();
  LogRotation(const LogRotation&) = delete;
  LogRotation& operator=(const LogRotation&) = delete;

  /// The record of a pod has changed; nullptr: it is gone or cannot be read.
  void OnRuntimeChange(const std::string& key, const v1::RuntimeRecord* record);

 private:
  struct Entry {
    std::string uid, path;
    LogGrowth growth;
    Clock::Time inspected_at, due;  // no time: never
    bool busy = false, tidied = false;
    std::string problem;
  };
  using Entries = std::map<std::string, Entry>;  // by container id

  void OnTimer();
  void Inspect(const std::string& key, const std::string& id, Entry& entry);
  void OnInspected(const std::string& key, const std::string& id, const StatusOr<LogState>& state,
                   Clock::Time at);
  /// When the next inspection of one of the logs is due; no time: never.
  static Clock::Time NextOf(const Entries& entries);
  void ArmAt(Clock::Time next);
  void ReportProblem(const std::string& id, Entry& entry, const std::string& problem);

  Deps deps_;
  const Duration period_;
  const int workers_;
  const bool enabled_;
  const std::string root_;
  const std::shared_ptr<const LogRotator> rotator_;  // shared with the strands
  std::map<std::string, Entries> pods_;              // by key
  exec::TimerId timer_ = 0;
  Clock::Time timer_at_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
