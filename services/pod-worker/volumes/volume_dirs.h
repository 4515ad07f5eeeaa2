#pragma once

/// Makes and removes directories of volumes on disk, in memory and on huge pages, and gives them to
/// the pod's group.
/// Threads: any, one call for a volume at a time; blocks on files and mounts.
/// Errors:  the kernel's. An owner that cannot be changed is logged only.
/// Units:   bytes.
/// Killed at any line: a directory gets its name only after its group. An unfinished directory has
///          another name; the next call or Remove takes it away.
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

  /// Mode 0777. An existing directory stays as it is: containers may have changed it.
  Status EnsureOnDisk(const std::string& path, FsGroup group);
  /// A mounted tmpfs stays as it is. `bytes` 0: the kernel's own limit.
  Status EnsureTmpfs(const std::string& path, int64_t bytes, FsGroup group);
  /// `page_size`: "2Mi".
  Status EnsureHugePages(const std::string& path, const std::string& page_size, FsGroup group);
  /// Gives `path` and everything below it. `access.read_only`: containers may only read.
  void GiveToGroup(const std::string& path, fs::GroupAccess access,
                   const fs::Ownership::OnEntry& on_entry = {});
  /// Gives one file, and keeps its mode.
  void GiveToUser(const std::string& path, uint32_t user);
  /// Unmounts `path`, then removes the directory and its content.
  Status Remove(const std::string& path);

 private:
  Status EnsureMounted(fs::MountRequest request);

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
