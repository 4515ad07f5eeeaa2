#pragma once

/// The kernel's log from now on.
/// Threads: one at a time; calls do not wait.
/// Errors: by errno: EPERM without the right to read it, ENOENT where there is none.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::gc {

class KernelLog {
 public:
  virtual ~KernelLog() = default;
  /// What was written since the last call, since the first one opened it; a record each, with its
  /// header. Of more than is kept for us, the newest.
  virtual StatusOr<std::vector<std::string>> ReadNew() = 0;
};

std::unique_ptr<KernelLog> MakeKernelLog(const std::string& path = "/dev/kmsg");

}  // namespace splitlet::gc
