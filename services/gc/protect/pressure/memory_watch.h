#pragma once

/// Starts an inspection as soon as memory usage passes a threshold, where the configuration asks
/// for it (kernelMemcgNotification). Each inspection sets the notification again, because the line
/// moves with the memory that the kernel can reclaim.
/// In:    each inspection of the node; the kernel's notification.
/// Owns:  when it last started an inspection, and whether one waits.
/// Out:   `inspect`: immediately, but at most once a second.
/// Killed at any line: the kernel drops the notification with the process.
/// Threads: loop thread; Read and Set on the strand of the inspections.
/// Errors: logged once for each code, and counted. Then memory is measured every 10 s, with
/// the other signals.
/// Source: docs/behaviour/eviction.md, "Memory between two measurements".

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "libs/base/log.h"
#include "libs/cgroup/memory_alarm.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "services/gc/config.h"
#include "services/gc/measure/signals.h"
#include "services/gc/metrics.h"
#include "services/gc/protect/pressure/memory_lines.h"

namespace splitlet::gc {

class MemoryWatch {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    std::unique_ptr<cgroup::MemoryAlarm> alarm;  // null: the configuration asks for none
    GcMetrics& metrics;
    std::function<void()> inspect;
  };
  MemoryWatch(Deps deps, const GcConfig& config);

  /// Before the signals are read.
  StatusOr<MemoryUse> Read() const;
  /// Afterwards.
  Status Set(const StatusOr<MemoryUse>& use, const std::vector<PressureSignal>& signals);
  void OnSet(const Status& status);

 private:
  void OnAlarm();
  void Inspect();

  Deps deps_;
  const GcConfig& config_;
  RepeatedFailure failure_;  // to set the notification
  bool waiting_ = false;     // an inspection starts when the last one is a second old
  std::optional<Clock::Time> inspected_at_;
  const exec::Asker asker_;
  const std::function<void()> on_alarm_;  // for the thread of the notification
};

}  // namespace splitlet::gc
