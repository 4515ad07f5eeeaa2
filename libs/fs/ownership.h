#pragma once

/// Owners of a volume's files: the kernel's, and a fake over files in memory.
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
  bool read_only = false;  // true: the group may read; false: it may write too
  bool operator==(const GroupAccess&) const = default;
};

/// Result of the walk; an entry that cannot be changed does not stop it.
struct GroupChange {
  uint64_t entries = 0, failed = 0;
  Status first_failure;
};

class Ownership {
 public:
  using OnEntry = std::function<void(uint64_t entries)>;
  virtual ~Ownership() = default;
  /// Changes the file or directory and all below it; links are changed themselves and not followed.
  /// New files in these directories inherit the group. An error: the path does not exist.
  /// `on_entry` may be empty; it gets the number of entries done after each entry, on the thread of
  /// the walk.
  virtual StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access,
                                            const OnEntry& on_entry) = 0;
  StatusOr<GroupChange> GiveToGroup(const std::string& path, GroupAccess access) {
    return GiveToGroup(path, access, {});
  }
  /// Changes the file itself and follows no link; group and mode stay.
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
