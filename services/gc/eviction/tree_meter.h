#pragma once

/// How much of a disk a tree takes that pods write, and on which device a path is.
/// Threads: any; calls block on the disk.
/// Errors: by errno; RESOURCE_EXHAUSTED for a tree of more entries than are counted.
/// Units: bytes as the disk gives them away (blocks), inodes.
/// Source: docs/safety.md, rule 30.

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
  /// however many names it has. A path that is not there takes nothing.
  virtual StatusOr<DiskFigures> Measure(const std::string& path) = 0;
  virtual StatusOr<uint64_t> DeviceOf(const std::string& path) = 0;
};

/// A loop with one open directory. What vanishes meanwhile is passed over, and so is what lies
/// deeper than a path may be long.
std::unique_ptr<TreeMeter> MakeTreeMeter();

}  // namespace splitlet::gc
