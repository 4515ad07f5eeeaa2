#pragma once

/// How gc asks pod-worker for the end of a pod, for whatever reason.
/// Threads: any.
/// Errors: those of KillPod.
/// Source: docs/safety.md, rule 19.

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

inline constexpr Duration kKillLimit = std::chrono::seconds{10};
inline constexpr Duration kKillRetry = std::chrono::seconds{1};

/// The pod has ended, or lives another life: it is not asked for again.
inline bool IsKillRefused(const Status& status) {
  return status.code() == StatusCode::kFailedPrecondition ||
         status.code() == StatusCode::kNotFound || status.code() == StatusCode::kInvalidArgument;
}

}  // namespace splitlet::gc
