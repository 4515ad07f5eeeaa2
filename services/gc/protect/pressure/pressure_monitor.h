#pragma once

/// Measures the eviction signals of the node and publishes which conditions follow.
/// In:    a timer of 10 s; the kernel's memory notification; the saved pressure of this boot, once.
/// Owns:  table `pressure`: key `node` -> signals, conditions, whether the node shuts down; when
/// each condition's thresholds were last met, since when each threshold is, and the files of both.
/// Out:   puts to `pressure`; `on_pass` with each inspection; `on_full_disk` when the disk has no
/// room for the files that the end of a pod needs.
/// Killed at any line: the files are written before the record is put, and the next start reads
/// them first.
/// Threads: loop thread; signals and files on a strand of their own.
/// Errors: a file that cannot be read delays the first record, and is in problem(). When a file
/// cannot be written, nothing is remembered: conditions and hard thresholds count while they are
/// met, and the grace of a soft threshold begins again with each inspection. A signal that cannot
/// be read is logged and counted; its condition stays as it is.
/// Source: docs/safety.md, rules 3 and 6.

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cgroup/memory_alarm.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/fs/record_store.h"
#include "services/gc/config.h"
#include "services/gc/measure/signals.h"
#include "services/gc/metrics.h"
#include "services/gc/protect/pressure/memory_watch.h"
#include "services/gc/protect/pressure/pressure_decision.h"
#include "services/gc/protect/repeated_failure.h"

namespace splitlet::v1 {
class PressureRecord;
}

namespace splitlet::gc {

/// The result of one inspection of the node.
struct Pass {
  Clock::Time began;  // before the first signal was read
  std::vector<PressureSignal> signals;
  Judged judged;
};

class PressureMonitor {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    cri::Images& images;
    TreeMeter& meter;
    std::unique_ptr<cgroup::MemoryAlarm> memory_alarm;  // null: see MemoryWatch
    bus::Table<v1::PressureRecord>& table;
    GcMetrics& metrics;
    std::function<void()> on_full_disk;
    std::function<void(const Pass&)> on_pass;
  };
  PressureMonitor(Deps deps, const GcConfig& config);
  ~PressureMonitor();
  PressureMonitor(const PressureMonitor&) = delete;
  PressureMonitor& operator=(const PressureMonitor&) = delete;

  void Start();
  /// Starts an inspection now. When one runs already, another follows it.
  void InspectAgain();
  /// Publishes the state immediately, or with the first record when there is none yet.
  void SetShuttingDown(bool shutting_down);
  /// Why nothing is measured; empty: it is.
  std::string problem() const;

 private:
  enum class Inspection {
    kRecordsUnread,  // the pressure of this boot is unknown until its files are read
    kNone,
    kRuns,          // until the result is put
    kRunsOnceMore,  // another inspection follows
  };
  void ReadRecords();
  void OnRecordsRead(const StatusOr<fs::RecordStore::All>& records);
  void OnTimer();
  struct Inspected {
    Clock::Time began;
    Signals signals;
    bool full = false;  // the disk
    Status watched;     // whether the kernel's notification was set
  };
  void OnInspected(const Inspected& inspected);
  void OnSaved(const Status& saved, const PressureMemory& memory);
  void Publish(const Pass& pass, const std::vector<std::string>& conditions);
  void LogUnread(const Signals& signals);
  void LogIgnoredThresholds();
  void PutPressure(const std::vector<PressureSignal>& signals,
                   const std::vector<std::string>& conditions);
  void Put();
  void LogConditions(const std::vector<std::string>& conditions);

  Deps deps_;
  const GcConfig& config_;
  const std::shared_ptr<const fs::RecordStore> records_;  // shared with the strand
  std::string records_problem_;
  PressureMemory memory_;  // as saved
  RepeatedFailure save_failure_;
  std::vector<std::string> logged_conditions_;
  std::set<std::string> logged_unread_;
  bool shutting_down_ = false;
  bool split_ = false;                          // see SignalSources
  std::unique_ptr<v1::PressureRecord> record_;  // as last put; none before the first inspection
  Inspection inspection_ = Inspection::kRecordsUnread;
  MemoryWatch memory_watch_;
  exec::Periodic timer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
