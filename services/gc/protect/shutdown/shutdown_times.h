#pragma once

/// What a shutdown of the node leaves on disk: its times for later boots, and how far it has come
/// for a later start in this one.
/// Threads: pure.
/// Errors: DATA_LOSS, the reason only.
/// Source: kubelet nodeshutdown localStorage; docs/behaviour/node-shutdown.md, "Files".

#include <cstddef>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

/// Of the last shutdown; as a kubelet writes them.
struct ShutdownTimes {
  std::optional<WallTime> start, end;  // no end: it goes on, or was cut off
  bool operator==(const ShutdownTimes&) const = default;
};
std::string EncodeTimes(const ShutdownTimes& times);
StatusOr<ShutdownTimes> DecodeTimes(const std::string& text);

struct ShutdownProgress {
  size_t group = 0;  // whose pods end
  Clock::Time group_began;
  bool ended = false;  // no group is left
};
std::string EncodeProgress(const ShutdownProgress& progress);
StatusOr<ShutdownProgress> DecodeProgress(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
