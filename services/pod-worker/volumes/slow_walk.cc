#include "services/pod-worker/volumes/slow_walk.h"

#include <fmt/format.h>

#include <utility>

namespace splitlet::pod_worker {

namespace {

constexpr const char* kInProgress = "VolumePermissionChangeInProgress";
constexpr const char* kAdvice =
    "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/"
    "#configure-volume-permission-and-ownership-change-policy-for-pods";

}  // namespace

SlowWalk::SlowWalk(const Clock& clock, std::string path, WarnPod warn)
    : clock_(clock), path_(std::move(path)), warn_(std::move(warn)), next_(clock.Now() + kFirst) {}

void SlowWalk::OnEntry(uint64_t entries) {
  const Clock::Time now = clock_.Now();
  if (!warn_ || now < next_) return;
  next_ = now + kAgain;
  if (std::exchange(reported_, true))
    return warn_(kInProgress, fmt::format("Setting volume ownership for {}, processed {} files.",
                                          path_, entries));
  warn_(kInProgress, fmt::format("Setting volume ownership for {} is taking longer than expected, "
                                 "consider using OnRootMismatch - {}",
                                 path_, kAdvice));
}

}  // namespace splitlet::pod_worker
