#pragma once

/// How much disk a directory tree of a pod takes, and on which device a path is.
/// Threads: any; calls block on the disk.
/// Errors: by errno; UNIMPLEMENTED where the kernel or seccomp forbids openat2. A tree that is too
/// large or too deep is no error: `more` is set.
/// Units: bytes in whole blocks of the disk, inodes.
/// Source: docs/safety.md, rule 30.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"

namespace splitlet::gc {

struct DiskStats {
  int64_t bytes = 0, inodes = 0;
  bool more = false;  // the tree holds more than was counted
  DiskStats& operator+=(const DiskStats& other) {
    bytes += other.bytes;
    inodes += other.inodes;
    more = more || other.more;
    return *this;
  }
  bool operator==(const DiskStats&) const = default;
};

class TreeMeter {
 public:
  virtual ~TreeMeter() = default;
  /// Counts the tree below `path`. Links are not followed, mounts are not entered, and a file with
  /// several names counts once. A path that does not exist takes nothing. `more` is set when the
  /// tree holds more entries than the limit or a path longer than PATH_MAX; the other entries
  /// count.
  virtual StatusOr<DiskStats> Measure(const std::string& path) = 0;
  virtual StatusOr<uint64_t> DeviceOf(const std::string& path) = 0;
};

struct TreeLimits {
  size_t entries = 5'000'000;
  size_t linked = 100'000;  // files with several names that are remembered
  size_t open = 8;          // directories that are open at the same time
};

/// Opens a path below `at` without crossing a mount or following a link. Returns the descriptor, or
/// -1 with errno set as openat2 sets it.
using BelowOpener = std::function<int(int at, const char* path, uint64_t flags)>;
int OpenBelow(int at, const char* path, uint64_t flags);

/// An entry that is removed during the measurement is skipped.
std::unique_ptr<TreeMeter> MakeTreeMeter(const TreeLimits& limits = {},
                                         BelowOpener open = OpenBelow);

}  // namespace splitlet::gc
