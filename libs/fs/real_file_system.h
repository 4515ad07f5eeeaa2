#pragma once

/// The files of this machine. See file_system.h for the contract.
/// Threads: any; calls block. Two writers of one path must take turns, because both use the same
/// temporary name.

#include <functional>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

class RealFileSystem final : public FileSystem {
 public:
  StatusOr<std::string> Read(const std::string& path, uint64_t max_bytes) override;
  StatusOr<OwnedText> ReadOwned(const std::string& path, uint64_t max_bytes) override;
  Status Replace(const std::string& path, std::string_view content, WriteOptions options) override;
  StatusOr<std::vector<DirEntry>> List(const std::string& path) override;
  StatusOr<FileInfo> Stat(const std::string& path, bool follow) override;
  Status MakeDirs(const std::string& path, uint32_t mode) override;
  Status MakeDirsBelow(const std::string& root, const std::string& below, uint32_t mode) override;
  Status MakeSymlink(const std::string& target, const std::string& path) override;
  StatusOr<std::string> ReadSymlink(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status RemoveTreeWhile(const std::string& path, const std::function<bool()>& go_on) override;
  Status Truncate(const std::string& path) override;
  Status Overwrite(const std::string& path, std::string_view content) override;
  Status Allocate(const std::string& path, uint64_t bytes) override;
  Status ReplaceFrom(const std::string& spare, const std::string& path, std::string_view content,
                     WriteOptions options) override;
  Status Rename(const std::string& from, const std::string& to) override;
  StatusOr<DiskUsage> Usage(const std::string& path) override;
};

}  // namespace splitlet::fs
