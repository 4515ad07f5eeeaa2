#pragma once

/// The lock that a process holds for its life, so that two starts never work on one state
/// directory. The kernel drops it when the process ends, however it ends. The file stays. Threads:
/// any. Errors: FAILED_PRECONDITION when another holds it, with its pid; else by errno. Source:
/// DESIGN.md, rule of safety 4.

#include <string>

#include "libs/base/status.h"

namespace splitlet::daemon {

class LockFile {
 public:
  /// Makes missing folders. Does not wait.
  static StatusOr<LockFile> Take(const std::string& path);
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;

 private:
  explicit LockFile(int fd) : fd_(fd) {}
  int fd_;
};

/// For a process that changes a runtime: one of its kind for each runtime, whatever its state
/// directory.
std::string RuntimeLockPath(const std::string& endpoint, const std::string& process);

}  // namespace splitlet::daemon
