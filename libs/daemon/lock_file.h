#pragma once

/// The lock that a process holds for its life. The kernel drops it at the end; the file stays.
/// Errors: FAILED_PRECONDITION when another holds it, with its pid, or when what is at the path may
/// be a stranger's; else by errno.
/// Source: docs/safety.md, rule 4.

#include <optional>
#include <string>
#include <utility>

#include "libs/base/status.h"

namespace splitlet::daemon {

class LockFile {
 public:
  /// Makes missing folders. Does not wait. A link is not followed.
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

/// For a process that changes a runtime: one of its kind for each runtime, whatever its state
/// directory. The file is in a folder of the user's own, since everybody may write beside that.
class RuntimeLock {
 public:
  /// `directory` is there, and the same for all who may use the runtime.
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
