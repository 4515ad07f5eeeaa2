#include "libs/kube/gated_fields.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {
namespace {

/// `take` returns whether it removed something.
template <class Take>
bool FromEach(google::protobuf::RepeatedPtrField<Container>& containers, const Take& take) {
  bool any = false;
  for (Container& container : containers) any = take(container) || any;
  return any;
}

template <class Take>
bool FromContainers(Pod& pod, const Take& take) {
  const bool regular = FromEach(*pod.mutable_spec()->mutable_containers(), take);
  return FromEach(*pod.mutable_spec()->mutable_init_containers(), take) || regular;
}

bool TakeRules(Container& container) {
  const bool any = container.restart_policy_rules_size() > 0;
  container.clear_restart_policy_rules();
  return any;
}

bool TakePolicy(Container& container) {
  const bool any = container.has_restart_policy();
  container.clear_restart_policy();
  return any;
}

/// Sidecars are not affected, because they are a feature of their own.
bool TakeRestartRules(Pod& pod) {
  const bool rules = FromContainers(pod, TakeRules);
  const bool regular = FromEach(*pod.mutable_spec()->mutable_containers(), TakePolicy);
  const bool init =
      FromEach(*pod.mutable_spec()->mutable_init_containers(), [](Container& container) {
        return container.restart_policy() != "Always" && TakePolicy(container);
      });
  return rules || regular || init;
}

bool TakeRestartAll(Container& container) {
  auto& rules = *container.mutable_restart_policy_rules();
  const auto end = std::remove_if(rules.begin(), rules.end(), [](const auto& rule) {
    return rule.action() == "RestartAllContainers";
  });
  const bool any = end != rules.end();
  rules.erase(end, rules.end());
  return any;
}

/// The variable stays, with an empty value.
template <class Variables>
bool TakeFileKeys(Variables& variables) {
  bool any = false;
  for (auto& variable : variables) {
    if (!variable.value_from().has_file_key_ref()) continue;
    variable.clear_value_from();
    any = true;
  }
  return any;
}

bool TakeEnvFiles(Pod& pod) {
  bool any = FromContainers(
      pod, [](Container& container) { return TakeFileKeys(*container.mutable_env()); });
  for (auto& ephemeral : *pod.mutable_spec()->mutable_ephemeral_containers())
    if (ephemeral.has_ephemeral_container_common())
      any = TakeFileKeys(*ephemeral.mutable_ephemeral_container_common()->mutable_env()) || any;
  return any;
}

bool TakeStopSignal(Container& container) {
  if (!container.lifecycle().has_stop_signal()) return false;
  container.mutable_lifecycle()->clear_stop_signal();
  return true;
}

bool TakeHostname(Pod& pod) {
  const bool any = pod.spec().has_hostname_override();
  if (any) pod.mutable_spec()->clear_hostname_override();
  return any;
}

}  // namespace

std::vector<std::string> TakeOutGatedFields(Pod& pod, const GatesOff& off) {
  std::vector<std::string> taken;
  if (off.restart_rules && TakeRestartRules(pod))
    taken.emplace_back(
        "restartPolicy and restartPolicyRules of a container: the feature gate "
        "ContainerRestartRules is off");
  if (off.restart_all && FromContainers(pod, TakeRestartAll))
    taken.emplace_back(
        "restartPolicyRules with RestartAllContainers: the feature gate "
        "RestartAllContainersOnContainerExits is off");
  if (off.env_files && TakeEnvFiles(pod))
    taken.emplace_back("env[].valueFrom.fileKeyRef: the feature gate EnvFiles is off");
  if (off.hostname_override && TakeHostname(pod))
    taken.emplace_back("hostnameOverride: the feature gate HostnameOverride is off");
  if (off.stop_signals && FromContainers(pod, TakeStopSignal))
    taken.emplace_back("lifecycle.stopSignal: the feature gate ContainerStopSignals is off");
  return taken;
}

}  // namespace splitlet::kube
