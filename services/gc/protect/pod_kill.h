#pragma once

/// Limits and retries of KillPod, for evictions and for node shutdown.
/// Threads: any.
/// Errors: those of KillPod.
/// Source: docs/safety.md, rule 19.

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

inline constexpr Duration kKillLimit = std::chrono::seconds{10};
inline constexpr Duration kKillRetry = std::chrono::seconds{1};

/// pod-worker refused for good, because the incarnation has ended or another one runs: gc does not
/// retry.
inline bool IsKillRefused(const Status& status) {
  return status.code() == StatusCode::kFailedPrecondition ||
         status.code() == StatusCode::kNotFound || status.code() == StatusCode::kInvalidArgument;
}

}  // namespace splitlet::gc
