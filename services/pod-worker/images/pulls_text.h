#pragma once

/// What a pod waits for while its images are pulled, in words for people.
/// Threads: a pure function, any.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Pulls".

#include <map>
#include <string>

#include "libs/base/clock.h"
#include "services/pod-worker/images/policy.h"

namespace splitlet::pod_worker {

/// "waits for the pull of image "a" since <time>, ..."; empty: no pull is under way. `before`: the
/// text so far, which says since when; `now` of those that are new.
std::string PullsText(const std::map<std::string, PullMemory>& pulls, const std::string& before,
                      WallTime now);

}  // namespace splitlet::pod_worker
