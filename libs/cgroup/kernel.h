#pragma once

/// The kernel's side of cgroups behind one interface: directories that come with their files, which
/// are written in place, and processes that can be killed.
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
  /// Of at most 1 MiB: RESOURCE_EXHAUSTED.
  virtual StatusOr<std::string> Read(const std::string& path) = 0;
  /// Of a file that is there.
  virtual Status Write(const std::string& path, const std::string& value) = 0;
  /// One that is there is OK.
  virtual Status MakeDir(const std::string& path) = 0;
  /// One that is not there is OK.
  virtual Status RemoveDir(const std::string& path) = 0;
  /// Names, sorted; NOT_FOUND when there is no such directory.
  virtual StatusOr<std::vector<std::string>> ListDirs(const std::string& path) = 0;
  /// SIGKILL; a process that is not there is OK.
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
