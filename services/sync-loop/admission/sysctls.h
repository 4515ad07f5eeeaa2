#pragma once

/// Which sysctls a pod may set: the safe ones of this kernel, and those that the operator allows.
/// Threads: immutable.
/// Errors: none; the configuration refuses bad patterns.
/// Source: docs/behaviour/admission.md, "The checks".

#include <string>
#include <string_view>
#include <vector>

#include "libs/kube/pod_types.h"

namespace splitlet::sync_loop {

class SysctlPolicy {
 public:
  /// `kernel_release` as uname prints it ("6.1.0-13-amd64"); `allowed` names, or prefixes that end
  /// in '*'.
  SysctlPolicy(std::string_view kernel_release, const std::vector<std::string>& allowed);
  /// Why the first forbidden sysctl is forbidden; empty when there is none.
  std::string WhyForbidden(const kube::PodSpec& spec) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace splitlet::sync_loop
