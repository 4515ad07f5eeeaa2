#pragma once

/// The kernel's interface of cgroups: directories that the kernel fills with files, files written
/// in place, and processes to kill.
/// Threads: any; calls block in the kernel.
/// Errors:  by errno (ErrnoStatus), the reason only. A directory that is still in use is
///          FAILED_PRECONDITION.

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::cgroup {

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// At most 1 MiB: RESOURCE_EXHAUSTED.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
  /// True if the file exists.
  virtual Status Write(const std::string& path, const std::string& value) = 0;
  /// Also OK if the directory exists already.
  virtual Status MakeDir(const std::string& path) = 0;
  /// Also OK if the directory does not exist.
  virtual Status RemoveDir(const std::string& path) = 0;
  /// Names, sorted; NOT_FOUND if the directory does not exist.
  virtual StatusOr<std::vector<std::string>> ListDirs(const std::string& path) = 0;
  /// Sends SIGKILL; also OK if the process does not exist.
  virtual Status Kill(int64_t pid) = 0;
};

class RealKernel final : public Kernel {
 public:
  StatusOr<std::string> Read(const std::string& path) override;
  Status Write(const std::string& path, const std::string& value) override;
  Status MakeDir(const std::string& path) override;
  Status RemoveDir(const std::string& path) override;
  StatusOr<std::vector<std::string>> ListDirs(const std::string& path) override;
  Status Kill(int64_t pid) override;
};

}  // namespace splitlet::cgroup
