#include "ctl/commands/find_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "ctl/show/pods.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"

namespace splitlet::ctl {
namespace {

bool HasContainer(const kube::PodSpec& spec, const std::string& name) {
  const auto is = [&name](const auto& container) { return container.name() == name; };
  return std::ranges::any_of(spec.containers(), is) ||
         std::ranges::any_of(spec.init_containers(), is) ||
         std::ranges::any_of(spec.ephemeral_containers(), [&name](const auto& container) {
           return container.ephemeral_container_common().name() == name;
         });
}

void Append(std::string& names, const std::string& name) {
  names += (names.empty() ? "" : ", ") + name;
}

}  // namespace

void Warn(const operate::Context& context, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems)
    context.err << "warning: " << OneLine(problem) << "\n";
}

StatusOr<std::vector<operate::PodView>> FindPods(const operate::Context& context,
                                                 const PodSelector& selector) {
  operate::NodePods node = context.client.ListPods(selector.detail);
  if (node.refused) return PermissionDenied("{}", node.problems.front());
  if (!node.listed) {
    std::string reasons;
    for (const auto& problem : node.problems) reasons += (reasons.empty() ? "" : "; ") + problem;
    return Unavailable(
        "no process can list the pods: {}{}", reasons,
        context.client.layout().top.empty() ? "; for a local stack give --state-dir DIR" : "");
  }
  if (!selector.quiet) Warn(context, node.problems);
  std::erase_if(node.pods, [&selector](const operate::PodView& view) {
    return (!selector.name_space.empty() && view.name_space != selector.name_space) ||
           (!selector.name.empty() && !IsNamed(view, selector.name));
  });
  return std::move(node.pods);
}

StatusOr<operate::PodView> FindPod(const operate::Context& context, const PodSelector& selector) {
  const auto pods = FindPods(context, selector);
  return pods.ok() ? PickPod(*pods, selector.name) : pods.status();
}

std::string ContainerNames(const kube::Pod& pod) {
  std::string names;
  for (const auto& container : pod.spec().containers()) Append(names, container.name());
  for (const auto& container : pod.spec().init_containers())
    Append(names, container.name() + " (init)");
  for (const auto& container : pod.spec().ephemeral_containers())
    Append(names, container.ephemeral_container_common().name() + " (ephem)");
  return names;
}

StatusOr<std::string> ChooseContainerName(const kube::Pod& pod, const std::string& wanted,
                                          std::string& notice) {
  const kube::PodSpec& spec = pod.spec();
  const std::string names = ContainerNames(pod);
  if (!wanted.empty()) {
    if (HasContainer(spec, wanted)) return wanted;
    return NotFound("container {} is not valid for pod {}, choose one of: [{}]", wanted,
                    pod.metadata().name(), names);
  }
  if (spec.containers_size() == 0)
    return NotFound("no containers of pod {} are known yet", pod.metadata().name());
  const auto& annotations = pod.metadata().annotations();
  if (const auto given = annotations.find(std::string(kube::kDefaultContainer));
      given != annotations.end()) {
    if (HasContainer(spec, given->second)) return given->second;
    notice = fmt::format("Default container name \"{}\" not found in pod {}\n", given->second,
                         pod.metadata().name());
  }
  const std::string& first = spec.containers(0).name();
  if (names != first)
    notice += fmt::format("Defaulted container \"{}\" out of: {}\n", first, names);
  return first;
}

}  // namespace splitlet::ctl
