#pragma once

/// A process of the group that misbehaves: it lists without end, records events that nobody needs,
/// and opens connections that it never uses or that speak no gRPC. A program of its own
/// (`splitletctl chaos flood`), since shares are those of a process. Called by RunFlood.
/// Threads: several of its own while it runs.
/// Errors: none; what is refused is asked again.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::chaos {

struct FloodCounts {
  std::atomic<uint64_t> lists = 0, events = 0, connections = 0, refused = 0;
};

struct FloodOrder {
  std::string run_dir, process;  // whose socket
  const Clock& clock;
  std::function<bool()> stopped;
};
/// Until `stopped`.
void Flood(const FloodOrder& order, FloodCounts& counts);

}  // namespace splitlet::chaos
