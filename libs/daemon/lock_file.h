#pragma once

/// The lock of a running process. The kernel releases it at the end; the file stays.
/// Errors: FAILED_PRECONDITION: another process holds the lock (with its pid), or the file may
/// belong to another user; else by errno.
/// Source: docs/safety.md, rule 4.

#include <optional>
#include <string>
#include <utility>

#include "libs/base/status.h"

namespace splitlet::daemon {

class LockFile {
 public:
  /// Makes missing folders. Does not wait. Follows no link.
  static StatusOr<LockFile> Take(const std::string& path);
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;

 private:
  friend class RuntimeLock;
  explicit LockFile(int fd) : fd_(fd) {}
  static StatusOr<LockFile> TakeAt(int folder, const std::string& name, const std::string& path);
  int fd_;
};

/// For a process that changes a runtime: one process of its kind for each runtime, whatever the
/// state directory. The file is in a folder that only this user may write.
class RuntimeLock {
 public:
  /// `directory` exists and is the same for all users of the runtime.
  static StatusOr<RuntimeLock> Take(const std::string& endpoint, const std::string& process,
                                    const std::string& directory = "/run/lock");

 private:
  static StatusOr<std::optional<LockFile>> TakeOld(const std::string& path);
  RuntimeLock(LockFile lock, std::optional<LockFile> old)
      : lock_(std::move(lock)), old_(std::move(old)) {}
  LockFile lock_;
  std::optional<LockFile> old_;
};

}  // namespace splitlet::daemon
