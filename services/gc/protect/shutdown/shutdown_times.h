#pragma once

/// The saved state of a node shutdown: its times for later boots, and its progress for a later
/// start in the same boot.
/// Threads: pure.
/// Errors: DATA_LOSS with the reason.
/// Source: kubelet nodeshutdown localStorage; docs/behaviour/node-shutdown.md, "Files".

#include <cstddef>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

/// The times of the last shutdown, in the format of a kubelet.
struct ShutdownTimes {
  std::optional<WallTime> start, end;  // no end: the shutdown goes on, or was interrupted
  bool operator==(const ShutdownTimes&) const = default;
};
std::string EncodeTimes(const ShutdownTimes& times);
StatusOr<ShutdownTimes> DecodeTimes(const std::string& text);

struct ShutdownProgress {
  size_t group = 0;  // the group whose pods end
  Clock::Time group_began;
  bool ended = false;  // all groups have ended
};
std::string EncodeProgress(const ShutdownProgress& progress);
StatusOr<ShutdownProgress> DecodeProgress(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
