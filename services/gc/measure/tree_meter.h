#pragma once

/// How much of a disk a tree takes that pods write, and on which device a path is.
/// Threads: any; calls block on the disk.
/// Errors: by errno; UNIMPLEMENTED where this process may not open anything so. A tree that is too
/// large or too deep is none: its figures say so.
/// Units: bytes as the disk gives them away (blocks), inodes.
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
  bool more = false;  // than is counted here
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
  /// Everything below, without following links, without what is mounted there; each file once,
  /// however many names it has. A path that is not there takes nothing. With `more` it holds more
  /// entries than are counted, or one that is deeper than a path may be long; what is beside that
  /// one is counted.
  virtual StatusOr<DiskStats> Measure(const std::string& path) = 0;
  virtual StatusOr<uint64_t> DeviceOf(const std::string& path) = 0;
};

struct TreeLimits {
  size_t entries = 5'000'000;
  size_t linked = 100'000;  // files with many names that are remembered
  size_t open = 8;          // directories at a time
};

/// A descriptor of what is at a path below `at`, for which no mount was crossed and no link
/// followed; else -1, with errno set as openat2 does.
using BelowOpener = std::function<int(int at, const char* path, uint64_t flags)>;
int OpenBelow(int at, const char* path, uint64_t flags);

/// What vanishes meanwhile is passed over.
std::unique_ptr<TreeMeter> MakeTreeMeter(const TreeLimits& limits = {},
                                         BelowOpener open = OpenBelow);

}  // namespace splitlet::gc
