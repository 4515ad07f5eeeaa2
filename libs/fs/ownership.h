#pragma once

/// Whose the files of a volume are: the kernel's, and a fake over files in memory.
/// Threads: any; calls block on the disk.
/// Errors:  by errno.
/// Units:   ids as on the host.
/// Source:  docs/behaviour/volumes.md, "fsGroup".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

struct GroupAccess {
  uint32_t group = 0;
  bool read_only = false;  // the group may read; else it may write too
  bool operator==(const GroupAccess&) const = default;
};

/// What became of it: an entry that cannot be changed does not hold up the others.
struct GroupChange {
  uint64_t entries = 0, failed = 0;
  Status first_failure;
};

class Ownership {
 public:
  using OnEntry = std::function<void(uint64_t entries)>;
  virtual ~Ownership() = default;
  /// The file or directory and all below it, links themselves and never what they lead to.
  /// Directories hand the group on to what is made in them. An error: nothing is there.
  /// `on_entry`: may be empty; hears after each entry how many are done, where the walk runs.
  virtual StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access,
                                            const OnEntry& on_entry) = 0;
  StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access) {
    return GiveToGroup(path, access, {});
  }
  /// The file itself, never what a link leads to; group and mode stay.
  virtual Status GiveToUser(const std::string& path, uint32_t user) = 0;
};

class RealOwnership final : public Ownership {
 public:
  using Ownership::GiveToGroup;
  StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access,
                                    const OnEntry& on_entry) override;
  Status GiveToUser(const std::string& path, uint32_t user) override;
};

}  // namespace splitlet::fs
