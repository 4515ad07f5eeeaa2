#pragma once

/// Reports when the whole machine ran out of memory. A kill for a container's own limit shows in
/// the status of that container.
/// In:    a timer of 10 s.
/// Owns:  the lines of a kill whose last line has not been read yet.
/// Out:   the node event SystemOOM.
/// Killed at any line: kills until the next start are not reported.
/// Threads: loop thread; the log on a strand of its own.
/// Errors: a kernel log that cannot be read is reported once for each code and tried again.
/// Source: docs/behaviour/eviction.md, "Kills of the kernel".

#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/oom/kernel_log.h"
#include "services/gc/protect/oom/oom_kills.h"
#include "services/gc/protect/repeated_failure.h"

namespace splitlet::gc {

class OomWatcher {
 public:
  struct Deps {
    exec::Env env;
    KernelLog& kernel_log;
    NodeEvents& node_events;
    GcMetrics& metrics;
  };
  explicit OomWatcher(const Deps& deps);

  void Start() { timer_.Kick(); }

 private:
  void OnTimer();
  void OnRead(const StatusOr<std::vector<std::string>>& records);

  Deps deps_;
  OomKills kills_;
  RepeatedFailure failure_;
  exec::Periodic timer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
