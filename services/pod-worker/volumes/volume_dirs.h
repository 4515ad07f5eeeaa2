#pragma once

/// Directories of volumes on disk, in memory and on huge pages: made, given to the pod's group and
/// removed.
/// Threads: any, one call for a volume at a time; blocks on files and mounts.
/// Errors:  what the kernel says. An owner that cannot be given is a line in the log.
/// Units:   bytes.
/// Killed at any line: a directory is there only with its group; one that was not finished has
///          another name, and is finished by the next call or removed with the rest.
/// Source:  docs/behaviour/volumes.md, "emptyDir" and "fsGroup".

#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/log.h"
#include "libs/fs/file_system.h"
#include "libs/fs/mounts.h"
#include "libs/fs/ownership.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

using FsGroup = std::optional<uint32_t>;
FsGroup FsGroupOf(const kube::Pod& pod);

class VolumeDirs {
 public:
  struct Deps {
    fs::FileSystem& files;
    fs::Mounts& mounts;
    fs::Ownership& ownership;
    const Log& log;
  };
  explicit VolumeDirs(Deps deps) : deps_(deps) {}

  /// Mode 0777. One that is there stays as it is: containers may have changed it.
  Status EnsureOnDisk(const std::string& path, FsGroup group);
  /// A file system of memory that is there stays as it is. `bytes` 0: the kernel's own limit.
  Status EnsureTmpfs(const std::string& path, int64_t bytes, FsGroup group);
  /// `page_size`: "2Mi".
  Status EnsureHugePages(const std::string& path, const std::string& page_size, FsGroup group);
  /// All that is at `path`. `read_only`: for containers.
  void GiveToGroup(const std::string& path, fs::GroupAccess access,
                   const fs::Ownership::OnEntry& on_entry = {});
  /// One file, whose mode stays.
  void GiveToUser(const std::string& path, uint32_t user);
  /// The directory with all in it, and what is mounted on it.
  Status Remove(const std::string& path);

 private:
  Status EnsureMounted(fs::MountRequest request);

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
