#pragma once

/// Has the node looked at as soon as a threshold of memory is passed, where the configuration asks
/// for it (kernelMemcgNotification). Set anew with each look, because it moves with what the node
/// can drop from memory.
/// In:    each look at the node; the alarm.
/// Out:   `look`, at once, and once in a second at most however memory goes up and down.
/// Killed at any line: the kernel forgets what was set with the process.
/// Threads: loop thread; Read and Set on the strand of the looks.
/// Errors: logged when they begin; memory is looked at with the others then.
/// Source: docs/behaviour/eviction.md, "Memory between two looks".

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "libs/base/log.h"
#include "libs/cgroup/memory_alarm.h"
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
    const Clock& clock;
    exec::EventLoop& loop;
    fs::FileSystem& files;
    std::unique_ptr<cgroup::MemoryAlarm> alarm;  // null: nobody asks for it
    GcMetrics& metrics;
    const Log& log;
    std::function<void()> look;
  };
  MemoryWatch(Deps deps, const GcConfig& config) : deps_(std::move(deps)), config_(config) {}

  /// Before the signals are read.
  StatusOr<MemoryUse> Read() const;
  /// Afterwards.
  Status Set(const StatusOr<MemoryUse>& use, const std::vector<PressureSignal>& signals);
  void OnSet(const Status& status);

 private:
  void OnAlarm();
  void Look();

  Deps deps_;
  const GcConfig& config_;
  bool told_ = false;     // that it cannot be set
  bool waiting_ = false;  // a look comes when the last one is a second old
  std::optional<Clock::Time> looked_at_;
};

}  // namespace splitlet::gc
