#pragma once

/// Figures of a runtime that does not count inodes, for tests.
/// Threads: as the runtime's.
/// Errors:  the runtime's.

#include <utility>
#include <vector>

#include "libs/cri/container_usage.h"

namespace splitlet::gc {

class FakeUsage final : public cri::Usage {
 public:
  explicit FakeUsage(cri::Stats& stats) : stats_(stats) {}
  StatusOr<std::vector<cri::ContainerUsage>> ListContainerUsage(Deadline deadline) override {
    const auto listed = stats_.ListContainerStats(std::move(deadline));
    if (!listed.ok()) return listed.status();
    std::vector<cri::ContainerUsage> usage;
    for (const auto& stats : *listed) usage.push_back({stats, std::nullopt});
    return usage;
  }

 private:
  cri::Stats& stats_;
};

}  // namespace splitlet::gc
