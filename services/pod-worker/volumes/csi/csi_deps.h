#pragma once

/// Objects that the operations on CSI volumes need. All of them outlive the operations.
/// Threads: values; the loop's.
/// Errors:  none.

#include <chrono>
#include <string>

#include "libs/csi/driver_lookup.h"
#include "libs/csi/names.h"
#include "libs/exec/env.h"
#include "services/pod-worker/objects/csi_objects.h"
#include "services/pod-worker/volumes/csi/volume_files.h"

namespace splitlet::pod_worker {

/// For all calls of one operation to its driver.
inline constexpr Duration kCsiLimit = std::chrono::minutes{2};

struct CsiDeps {
  exec::Env env;
  CsiDisk disk;
  csi::DriverLookup& drivers;
  CsiObjects& objects;
  std::string node_name;
  csi::Paths paths;
};

}  // namespace splitlet::pod_worker
