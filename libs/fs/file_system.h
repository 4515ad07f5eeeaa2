#pragma once

/// Files behind one interface: bounded reads, atomic replacement, listing, statfs. The real file
/// system and the fake one pass the same contract test. file_watcher.h reports changes.
/// Threads: any; calls block on the disk, so not on a loop thread.
/// Errors: by errno (ErrnoStatus), the reason only.
/// Units: bytes; wall times for people only.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::fs {

struct FileInfo {
  enum class Kind { kFile, kDirectory, kSymlink, kSocket, kCharDevice, kBlockDevice, kOther };
  Kind kind = Kind::kOther;
  uint64_t size = 0;
  uint64_t inode = 0;
  WallTime modified;
};

struct DirEntry {
  std::string name;  // without the directory
  FileInfo::Kind kind = FileInfo::Kind::kOther;
};

struct DiskUsage {
  uint64_t capacity_bytes = 0;
  uint64_t available_bytes = 0;  // space for users other than root
  uint64_t inodes = 0;
  uint64_t inodes_free = 0;
};

/// A file's content, its owner and its mode.
struct OwnedText {
  std::string text;
  uint32_t owner = 0;  // user id
  uint32_t mode = 0;   // permission bits
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Reads the whole file; RESOURCE_EXHAUSTED if it is longer than `max_bytes`. Follows symlinks; a
  /// loop is INVALID_ARGUMENT.
  virtual StatusOr<std::string> Read(const std::string& path, uint64_t max_bytes) = 0;
  /// Like Read, with owner and mode of the same opened file.
  virtual StatusOr<OwnedText> ReadOwned(const std::string& path, uint64_t max_bytes) = 0;
  /// Replaces the whole file: writes a temporary file in the same folder, then renames it. With
  /// `fsync`, file and folder are on disk on return. Creates missing folders. The default mode is
  /// 0600.
  struct WriteOptions {
    bool fsync = false;
    uint32_t mode = 0600;
  };
  virtual Status Replace(const std::string& path, std::string_view content,
                         WriteOptions options) = 0;
  /// Sorted by name; NOT_FOUND if the directory does not exist.
  virtual StatusOr<std::vector<DirEntry>> List(const std::string& path) = 0;
  /// `follow`: stats the target of a symlink.
  virtual StatusOr<FileInfo> Stat(const std::string& path, bool follow) = 0;
  /// Creates the missing directories, with exactly this mode whatever the umask. Follows links in
  /// the existing part of the path; a link in place of a new directory is an error.
  virtual Status MakeDirs(const std::string& path, uint32_t mode) = 0;
  /// Creates the folder `below` in the folder `root`, with its parents, like MakeDirs, but follows
  /// no link below the root. ALREADY_EXISTS if a component of the path is no directory.
  virtual Status MakeDirsBelow(const std::string& root, const std::string& below,
                               uint32_t mode) = 0;
  virtual Status MakeSymlink(const std::string& target, const std::string& path) = 0;
  virtual StatusOr<std::string> ReadSymlink(const std::string& path) = 0;
  /// Removes a file, symlink or empty directory. OK if it does not exist.
  virtual Status Remove(const std::string& path) = 0;
  /// Removes a tree, without following symlinks and without crossing into another file system
  /// (FAILED_PRECONDITION at a mount point). OK if it does not exist.
  Status RemoveTree(const std::string& path) {
    return RemoveTreeWhile(path, [] { return true; });
  }
  /// Like RemoveTree, but asks `go_on` before each entry. ABORTED when the answer is no: the
  /// entries before are removed, and another call removes the rest.
  virtual Status RemoveTreeWhile(const std::string& path, const std::function<bool()>& go_on) = 0;
  /// Empties a file; does not follow a link.
  virtual Status Truncate(const std::string& path) = 0;
  /// Replaces the content of an existing file in place: programs that have it open or mounted see
  /// the new content. A kill during the write may leave the end of the old content. NOT_FOUND if
  /// the file does not exist, INVALID_ARGUMENT for a link or no regular file.
  virtual Status Overwrite(const std::string& path, std::string_view content) = 0;
  /// Creates a file with this many bytes reserved on the disk and arbitrary content. Creates
  /// missing folders. Only the owner can read it.
  virtual Status Allocate(const std::string& path, uint64_t bytes) = 0;
  /// Replaces the file at `path` like Replace, by a file that Allocate made. The content goes into
  /// reserved blocks, so it succeeds on a full disk. Both files must be on one file system, the
  /// folder must exist, and the content must fit into the reserved bytes.
  virtual Status ReplaceFrom(const std::string& spare, const std::string& path,
                             std::string_view content, WriteOptions options) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual StatusOr<DiskUsage> Usage(const std::string& path) = 0;
};

}  // namespace splitlet::fs
