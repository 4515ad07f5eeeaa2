#include "services/sync-loop/admission/pod_security.h"

#include <algorithm>
#include <optional>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/security.pb.h"
#include "libs/kube/user_namespace.h"

namespace splitlet::sync_loop {
namespace {

constexpr std::string_view kAnnotation = "container.apparmor.security.beta.kubernetes.io/";

/// The old annotation, for static pods: whether the container has a profile; nothing when the value
/// is absent or unknown.
std::optional<bool> ProfileOfAnnotation(const kube::Pod& pod, const std::string& container) {
  const auto& annotations = pod.metadata().annotations();
  const auto found = annotations.find(std::string(kAnnotation) + container);
  if (found == annotations.end()) return std::nullopt;
  const std::string& profile = found->second;
  if (profile == "unconfined") return false;
  if (profile == "runtime/default" || profile.starts_with("localhost/")) return true;
  return std::nullopt;
}

template <class Context>
std::optional<bool> ProfileOf(const Context& context) {
  if (!context.has_app_armor_profile()) return std::nullopt;
  return context.app_armor_profile().type() != "Unconfined";
}

bool HasProfile(const kube::Pod& pod, const kube::Container& container) {
  if (const auto own = ProfileOf(container.security_context())) return *own;
  if (const auto noted = ProfileOfAnnotation(pod, container.name())) return *noted;
  return ProfileOf(pod.spec().security_context()).value_or(false);
}

}  // namespace

bool AsksForStrictGroups(const kube::Pod& pod) {
  return pod.spec().security_context().supplemental_groups_policy() == "Strict";
}

bool AsksForAppArmor(const kube::Pod& pod) {
  const auto has = [&pod](const kube::Container& container) { return HasProfile(pod, container); };
  const auto& spec = pod.spec();
  return std::any_of(spec.init_containers().begin(), spec.init_containers().end(), has) ||
         std::any_of(spec.containers().begin(), spec.containers().end(), has);
}

bool AsksForAbilities(const kube::Pod& pod) {
  return AsksForStrictGroups(pod) || AsksForAppArmor(pod) || kube::HasUserNamespace(pod.spec());
}

bool MayHave(const NodeAbilities::Handlers& handlers, const kube::Pod& pod) {
  return pod.spec().runtime_class_name().empty() ? handlers.first : handlers.any;
}

}  // namespace splitlet::sync_loop
