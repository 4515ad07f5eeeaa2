#pragma once

/// How much of a disk a tree takes that pods write, and on which device a path is.
/// Threads: any; calls block on the disk.
/// Errors: by errno. A tree that is too large or too deep is none: its figures say so.
/// Units: bytes as the disk gives them away (blocks), inodes.
/// Source: docs/safety.md, rule 30.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "services/gc/eviction/ranking.h"

namespace splitlet::gc {

class TreeMeter {
 public:
  virtual ~TreeMeter() = default;
  /// Everything below, without following links, without what is mounted there; each file once,
  /// however many names it has. A path that is not there takes nothing. With `more` it holds more
  /// entries than are counted, or one that is deeper than a path may be long.
  virtual StatusOr<DiskFigures> Measure(const std::string& path) = 0;
  virtual StatusOr<uint64_t> DeviceOf(const std::string& path) = 0;
};

struct TreeLimits {
  size_t entries = 5'000'000;
  size_t linked = 100'000;  // files with many names that are remembered
  size_t open = 8;          // directories at a time
};
/// What vanishes meanwhile is passed over.
std::unique_ptr<TreeMeter> MakeTreeMeter(const TreeLimits& limits = {});

}  // namespace splitlet::gc
