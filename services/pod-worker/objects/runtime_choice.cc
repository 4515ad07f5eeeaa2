#include "services/pod-worker/objects/runtime_choice.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "libs/kube/quantity.h"

namespace splitlet::pod_worker {

namespace {

/// "1" equals "1000m".
bool IsSame(const std::string& a, const std::string& b) {
  const auto first = kube::Quantity::Parse(a), second = kube::Quantity::Parse(b);
  return first.ok() && second.ok() ? *first == *second : a == b;
}

}  // namespace

StatusOr<RuntimeChoice> ChooseRuntime(const kube::Pod& pod, const ObjectSource* objects) {
  const std::string& name = pod.spec().runtime_class_name();
  if (name.empty()) return RuntimeChoice{};
  if (objects == nullptr) return NotFound("runtimeclass.node.k8s.io \"{}\" not found", name);
  const auto found = objects->GetRuntimeClass(name);
  if (!found.ok()) return found.status();
  RuntimeChoice choice{.handler = (*found)->handler()};
  for (const auto& [resource, amount] : (*found)->overhead().pod_fixed())
    choice.overhead[resource] = amount.string();
  const auto& named = pod.spec().overhead();
  if (named.empty()) return choice;
  if (choice.overhead.empty())
    return FailedPrecondition(
        "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  const bool same =
      named.size() == choice.overhead.size() &&
      std::all_of(named.begin(), named.end(), [&choice](const auto& entry) {
        const auto of_class = choice.overhead.find(entry.first);
        return of_class != choice.overhead.end() && IsSame(of_class->second, entry.second.string());
      });
  if (!same)
    return FailedPrecondition(
        "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  return choice;
}

}  // namespace splitlet::pod_worker
