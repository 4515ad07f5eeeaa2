#pragma once

/// The text that a pod waits for the pulls of its images.
/// Threads: a pure function, any.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Pulls".

#include <map>
#include <string>

#include "libs/base/clock.h"
#include "services/pod-worker/images/policy.h"

namespace splitlet::pod_worker {

/// "waits for the pull of image "a" since <time>, ..."; empty: no pull runs. `before`: the text so
/// far, which holds the times of known pulls; new pulls get `now`.
std::string PullsText(const std::map<std::string, PullMemory>& pulls, const std::string& before,
                      WallTime now);

}  // namespace splitlet::pod_worker
