#pragma once

/// Which driver of cgroups this node uses: the runtime's.
/// Threads: that of the caller.
/// Errors: none; what is not known is taken from elsewhere, and logged.
/// Source: docs/behaviour/cgroups.md.

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
  /// What the runtime said last. A node whose runtime is away goes on by that, since its pods have
  /// cgroups of that driver.
  std::string kept_path;
  Metrics& metrics;
};

/// "systemd" or "cgroupfs". What `configured` says counts where the runtime does not say, or never
/// answered.
std::string ChooseDriver(const DriverChoice& choice, fs::FileSystem& files, const Log& log);

}  // namespace splitlet::pod_worker
