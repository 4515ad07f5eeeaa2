#pragma once

/// A reserve on the disk in a state directory, so that records that end a pod can be written after
/// a pod has filled the disk. It consists of small files with allocated blocks. A write puts its
/// content into such a file and renames it, so that no other program can take the space in between.
/// Threads: any, Keep one at a time; calls block on the disk.
/// Errors: by errno.
/// Killed at any line: at most one file of the reserve is damaged or unnamed; the next Keep makes
/// it again.
/// Source: docs/safety.md, rule 28.

#include <string>
#include <string_view>
#include <vector>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

class Reserve {
 public:
  /// 1 MiB in all. A record of a pod has a few KiB; a longer one uses the whole reserve.
  static constexpr uint64_t kFiles = 32;
  static constexpr uint64_t kFileBytes = 32 << 10;

  /// `directory` must be on the file system to reserve; no other object uses it.
  Reserve(FileSystem& files, std::string directory);

  /// Creates missing files if twice the size of the reserve is free. Otherwise returns OK, and the
  /// next call tries again.
  Status Keep() const;
  /// Frees half of the reserve for other writers if less space is free than the size of the
  /// reserve. The other half stays for Write.
  Status GiveHalf() const;
  /// Like FileSystem::Replace, with space of the reserve. RESOURCE_EXHAUSTED if the reserve is used
  /// up.
  Status Write(const std::string& path, std::string_view content,
               FileSystem::WriteOptions options) const;

 private:
  StatusOr<std::vector<std::string>> Files() const;

  FileSystem& files_;
  const std::string directory_;
};

}  // namespace splitlet::fs
