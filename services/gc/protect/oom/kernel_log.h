#pragma once

/// Reads the new records of the kernel's log.
/// Threads: one call at a time; calls do not block.
/// Errors: by errno: EPERM without the right to read it, ENOENT where there is none.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::gc {

class KernelLog {
 public:
  virtual ~KernelLog() = default;
  /// The records since the last call, each with its header. The first call opens the log at its
  /// end. When the kernel has dropped records, the newest ones remain.
  virtual StatusOr<std::vector<std::string>> ReadNew() = 0;
};

std::unique_ptr<KernelLog> MakeKernelLog(const std::string& path = "/dev/kmsg");

}  // namespace splitlet::gc
