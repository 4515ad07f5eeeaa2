#pragma once

/// Selects the pods of a command.
/// Threads: the main one.
/// Errors: UNAVAILABLE when no process can list the pods, PERMISSION_DENIED when no process answers
/// this user; those of PickPod.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/operate/client.h"
#include "libs/operate/command_line.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

struct PodSelector {
  std::string name;        // "web", "default/web" or a UID; empty: all
  std::string name_space;  // only this namespace; empty: all
  operate::Client::Detail detail = operate::Client::Detail::kList;
  bool quiet = false;  // no warnings
};
/// A process that is down causes a warning on stderr; the remaining pods are still listed.
StatusOr<std::vector<operate::PodView>> FindPods(const operate::Context& context,
                                                 const PodSelector& selector);
StatusOr<operate::PodView> FindPod(const operate::Context& context, const PodSelector& selector);

/// The names of its containers, as kubectl lists them: "a, b, i (init), d (ephem)".
std::string ContainerNames(const kube::Pod& pod);
/// `wanted`; if empty, kubectl's default: the container of the annotation, else the first. `notice`
/// names it when there are several. NOT_FOUND lists the pod's containers.
StatusOr<std::string> ChooseContainerName(const kube::Pod& pod, const std::string& wanted,
                                          std::string& notice);

void Warn(const operate::Context& context, const std::vector<std::string>& problems);

}  // namespace splitlet::ctl
