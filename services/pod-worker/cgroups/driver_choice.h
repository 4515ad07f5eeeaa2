#pragma once

/// Chooses the cgroup driver of this node: the runtime's.
/// Threads: the caller's; blocks on a file and on the runtime.
/// Errors:  none. A driver that the runtime does not report comes from the file or the
///          configuration, and the log says so.
/// Source:  docs/behaviour/cgroups.md.

#include <functional>
#include <string>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/metrics/metrics.h"

namespace splitlet::pod_worker {

struct DriverChoice {
  std::function<StatusOr<std::string>()> ask;  // the runtime
  std::string configured;                      // cgroupDriver
  /// The file with the driver that the runtime reported last. While the runtime is away it counts,
  /// because the node's pods have cgroups of that driver.
  std::string kept_path;
  Metrics& metrics;
};

/// "systemd" or "cgroupfs". `configured` counts where the runtime cannot report its driver, or
/// never answered.
std::string ChooseDriver(const DriverChoice& choice, fs::FileSystem& files, const Log& log);

}  // namespace splitlet::pod_worker
