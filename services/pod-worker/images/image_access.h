#pragma once

/// Whether a pod may use an image that is there, or has to pull it to show that its registry lets
/// it.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Whose image it is".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/pod-worker/images/keyring.h"
#include "services/pod-worker/images/pull_records.h"

namespace splitlet::pod_worker {

inline constexpr std::string_view kNeverVerify = "NeverVerify";

struct AccessPolicy {
  std::string name = "NeverVerifyPreloadedImages";
  std::vector<std::string> allowlist;  // repositories, or "prefix/*"
};

/// Only then are the records looked at any further.
bool MustVerify(const AccessPolicy& policy, const std::string& image, bool pulled_here);

struct AccessDecision {
  bool allowed = false;
  std::optional<Credential> add;  // what the record has to learn
};

/// What a pod shows: its credentials for the image, and its service account, if plugins may be told
/// of that.
struct PodShows {
  std::vector<Credential> credentials;
  std::optional<AccountRef> account = {};
};
AccessDecision DecideAccess(const PullOrigin& origin, const PodShows& shows);

}  // namespace splitlet::pod_worker
