#include "libs/kube/restart_policy.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {
namespace {

constexpr std::string_view kRestartAll = "RestartAllContainers";

bool Matches(const k8s::io::api::core::v1::ContainerRestartRule& rule, int32_t exit_code) {
  const auto& codes = rule.exit_codes().values();
  const bool listed = std::find(codes.begin(), codes.end(), exit_code) != codes.end();
  return rule.exit_codes().operator_() == "NotIn" ? !listed : listed;
}

const k8s::io::api::core::v1::ContainerRestartRule* FirstMatch(const Container& container,
                                                               int32_t exit_code) {
  // Rules apply only with a restartPolicy of the container itself.
  if (!container.has_restart_policy()) return nullptr;
  for (const auto& rule : container.restart_policy_rules())
    if (Matches(rule, exit_code)) return &rule;
  return nullptr;
}

template <class List>
bool AnyRestartsAll(const List& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const Container& container) {
    const auto& rules = container.restart_policy_rules();
    return std::any_of(rules.begin(), rules.end(),
                       [](const auto& rule) { return rule.action() == kRestartAll; });
  });
}

}  // namespace

const std::string& RestartPolicyOf(const Pod& pod, const Container& container) {
  return container.has_restart_policy() ? container.restart_policy() : pod.spec().restart_policy();
}

bool RestartsAllAfterExit(const Container& container, int32_t exit_code) {
  const auto* rule = FirstMatch(container, exit_code);
  return rule != nullptr && rule->action() == kRestartAll;
}

bool MayRestartAll(const Pod& pod) {
  return AnyRestartsAll(pod.spec().containers()) || AnyRestartsAll(pod.spec().init_containers());
}

bool RestartsAfterExit(const Pod& pod, const Container& container, int32_t exit_code) {
  if (FirstMatch(container, exit_code) != nullptr) return true;
  const std::string& policy = RestartPolicyOf(pod, container);
  if (policy == "Never") return false;
  return policy != "OnFailure" || exit_code != 0;
}

}  // namespace splitlet::kube
