#pragma once

/// What the runtime measures of containers, for those who show figures. A role of its own: who
/// decides by figures (Stats) needs less.
/// Threads: any; the call blocks until its answer or its deadline.
/// Errors:  gRPC codes, unchanged.
/// Units:   bytes, nanoseconds of CPU time.
/// Source:  CRI v1.

#include <cstdint>
#include <optional>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace runtime::v1 {
class ContainerStats;
}

namespace splitlet::cri {

struct ContainerUsage {
  ContainerStats stats;
  std::optional<uint64_t> layer_inodes;  // of the writable layer
};

class Usage {
 public:
  virtual ~Usage() = default;
  virtual StatusOr<std::vector<ContainerUsage>> ListContainerUsage(Deadline deadline) = 0;
};

ContainerUsage UsageFromProto(const runtime::v1::ContainerStats& stats);

}  // namespace splitlet::cri
