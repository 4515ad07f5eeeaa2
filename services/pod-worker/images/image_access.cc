#include "services/pod-worker/images/image_access.h"

#include <algorithm>

namespace splitlet::pod_worker {

namespace {

bool IsListed(const std::string& repository, const std::vector<std::string>& allowlist) {
  return std::ranges::any_of(allowlist, [&repository](const std::string& entry) {
    return entry.ends_with("/*") ? repository.starts_with(entry.substr(0, entry.size() - 1))
                                 : repository == entry;
  });
}

}  // namespace

bool MustVerify(const AccessPolicy& policy, const std::string& image, bool pulled_here) {
  if (policy.name == kNeverVerify) return false;
  if (policy.name == "AlwaysVerify") return true;
  if (policy.name == "NeverVerifyAllowlistedImages")
    return !IsListed(RepositoryOf(image), policy.allowlist);
  return pulled_here;
}

AccessDecision DecideAccess(const PullOrigin& origin, const PodShows& shows) {
  if (!origin.credentials) return {};
  if (origin.credentials->node_pods_accessible()) return {.allowed = true};
  AccessDecision decision;
  for (const auto& credential : shows.credentials) {
    if (!credential.secret) continue;
    const std::string hash = HashOf(credential);
    for (const auto& record : origin.credentials->kubernetes_secrets()) {
      const bool same_secret =
          SecretRef{record.uid(), record.namespace_(), record.name()} == *credential.secret;
      const bool same_hash = record.credential_hash() == hash;
      if (same_hash && same_secret) return {.allowed = true};
      if (!decision.allowed && (same_hash || same_secret))
        decision = {.allowed = true, .add = credential};
    }
  }
  for (const auto& record : origin.credentials->kubernetes_service_accounts())
    if (shows.account == AccountRef{record.uid(), record.namespace_(), record.name()})
      decision.allowed = true;
  return decision;
}

}  // namespace splitlet::pod_worker
