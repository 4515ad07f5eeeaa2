#include "libs/kube/restart_policy.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {
namespace {

bool Matches(const k8s::io::api::core::v1::ContainerRestartRule& rule, int32_t exit_code) {
  const auto& codes = rule.exit_codes().values();
  const bool listed = std::find(codes.begin(), codes.end(), exit_code) != codes.end();
  return rule.exit_codes().operator_() == "NotIn" ? !listed : listed;
}

}  // namespace

const std::string& RestartPolicyOf(const Pod& pod, const Container& container) {
  return container.has_restart_policy() ? container.restart_policy() : pod.spec().restart_policy();
}

bool RestartsAfterExit(const Pod& pod, const Container& container, int32_t exit_code) {
  if (container.has_restart_policy())
    for (const auto& rule : container.restart_policy_rules())
      if (Matches(rule, exit_code)) return true;
  const std::string& policy = RestartPolicyOf(pod, container);
  if (policy == "Never") return false;
  return policy != "OnFailure" || exit_code != 0;
}

}  // namespace splitlet::kube
