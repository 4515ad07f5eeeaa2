#include "libs/daemon/idle_trim.h"

#include <utility>

namespace splitlet::daemon {

bool IdleTrim::IsDue(Duration used) {
  const Duration round = used - std::exchange(used_, used);
  idle_ = round <= kIdle ? idle_ + 1 : 0;
  if (used - trimmed_ < kBurst) return false;
  ++waits_;
  if (idle_ < kIdleRounds && waits_ < kMostRounds) return false;
  trimmed_ = used;
  waits_ = 0;
  return true;
}

}  // namespace splitlet::daemon
