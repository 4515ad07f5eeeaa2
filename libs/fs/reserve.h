#pragma once

/// Room on the disk that a state directory keeps, so that what ends a pod can be written when a pod
/// has filled the disk: small files that have their blocks already. A write takes one: the content
/// goes into its blocks, then it is renamed, so that nobody who waits for room gets it first.
/// Threads: any, Keep one at a time; calls block on the disk.
/// Errors: by errno.
/// Killed at any line: at most one file of it has lost its blocks' content, which has no meaning,
/// or has no name yet; the next Keep makes it anew.
/// Source: docs/safety.md, rule 28.

#include <string>
#include <string_view>
#include <vector>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

class Reserve {
 public:
  /// 1 MiB in all. A fact of a pod is a few KiB; a longer one gets the whole reserve at once.
  static constexpr uint64_t kFiles = 32;
  static constexpr uint64_t kFileBytes = 32 << 10;

  /// `directory` is on the file system that it is for, and nobody else's.
  Reserve(FileSystem& files, std::string directory);

  /// Makes what is missing, once twice as much as the whole reserve is free. Without the room it
  /// waits for the next call; that is OK.
  Status Keep() const;
  /// Gives half of the reserve to whoever else waits for room, when less is free than the reserve
  /// is large; the other half stays for Write.
  Status GiveHalf() const;
  /// The same as FileSystem::Replace, out of the reserve. RESOURCE_EXHAUSTED when nothing is left.
  Status Write(const std::string& path, std::string_view content,
               FileSystem::WriteOptions options) const;

 private:
  StatusOr<std::vector<std::string>> Files() const;

  FileSystem& files_;
  const std::string directory_;
};

}  // namespace splitlet::fs
