#pragma once

/// A misbehaving member of the group: it lists in a loop, records needless events, and opens
/// connections that stay idle or send garbage. It runs as a program of its own (`splitletctl chaos
/// flood`), because limits are per process. Called by RunFlood.
/// Threads: several of its own while it runs.
/// Errors: none; a refused call is repeated.

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
  std::string run_dir, process;  // run directory with the socket of the process
  const Clock& clock;
  std::function<bool()> stopped;
};
/// Returns when `stopped` is true.
void Flood(const FloodOrder& order, FloodCounts& counts);

}  // namespace splitlet::chaos
