#pragma once

/// Which containers' logs are looked at, and when.
/// In:    the records of `runtime`, a timer.
/// Out:   looks on strands of their own. A log that grows quickly is looked at before it would be
/// full; one that is new after a second. The runtime itself says whether a container still runs,
/// when its log is opened anew, so that an old record harms nothing.
/// Killed at any line: the first look at each log finishes what was cut short.
/// Threads: loop thread only.
/// Errors: to the log, once for each container until it changes.

#include <map>
#include <string>

#include "libs/base/log.h"
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
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    LogRotatorDeps rotator;
    Log log;
    GcMetrics& metrics;
    /// Whether a pod is ours, by the key of its record: others' logs are left alone.
    std::function<bool(const std::string& key)> is_ours;
  };
  LogRotation(Deps deps, const GcConfig& config);
  ~LogRotation();
  LogRotation(const LogRotation&) = delete;
  LogRotation& operator=(const LogRotation&) = delete;

  /// The record of a pod has changed; nullptr: it is gone, or cannot be read.
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
  /// When the next look at one of them is due; no time: never.
  static Clock::Time NextOf(const Entries& entries);
  void ArmAt(Clock::Time next);
  void ReportProblem(const std::string& id, Entry& entry, const std::string& problem);

  Deps deps_;
  const Duration period_;
  const int workers_;
  const bool enabled_;
  const std::string root_;
  LogRotator rotator_;
  std::map<std::string, Entries> pods_;  // by key
  exec::TimerId timer_ = 0;
  Clock::Time timer_at_;
};

}  // namespace splitlet::gc
