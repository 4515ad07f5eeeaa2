#pragma once

/// Which pods a command is about.
/// Threads: the main one.
/// Errors: UNAVAILABLE when no process tells which pods there are, PERMISSION_DENIED when none
/// tells this user; those of PickPod.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/operate/client.h"
#include "libs/operate/command_line.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

struct PodSelector {
  std::string name;        // "web", "default/web" or a UID; empty: all
  std::string name_space;  // only this; empty: all
  operate::Client::Detail detail = operate::Client::Detail::kList;
  bool quiet = false;  // says nothing of what is missing
};
/// What is missing is said on stderr, but hides nothing else.
StatusOr<std::vector<operate::PodView>> FindPods(const operate::Context& context,
                                                 const PodSelector& selector);
StatusOr<operate::PodView> FindPod(const operate::Context& context, const PodSelector& selector);

/// The names of its containers, as kubectl lists them: "a, b, i (init), d (ephem)".
std::string ContainerNames(const kube::Pod& pod);
/// `wanted`, or the one that kubectl would take without it: that of the annotation, else the first.
/// `notice` says which when there are several. NOT_FOUND names those that there are.
StatusOr<std::string> ChooseContainerName(const kube::Pod& pod, const std::string& wanted,
                                          std::string& notice);

void Warn(const operate::Context& context, const std::vector<std::string>& problems);

}  // namespace splitlet::ctl
