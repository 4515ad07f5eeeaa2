#pragma once

/// Whether a pod may use an image of the node, or has to pull it to prove that the registry accepts
/// its credentials.
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

/// The records of the image's pulls decide.
bool MustVerify(const AccessPolicy& policy, const std::string& image, bool pulled_here);

struct AccessDecision {
  bool allowed = false;
  std::optional<Credential> add;  // to be added to the image's record
};

/// The pod's credentials for the image, and its service account where a plugin may use it.
struct PodShows {
  std::vector<Credential> credentials;
  std::optional<AccountRef> account = {};
};
AccessDecision DecideAccess(const PullOrigin& origin, const PodShows& shows);

}  // namespace splitlet::pod_worker
