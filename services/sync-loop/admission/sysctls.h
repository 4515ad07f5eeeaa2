#pragma once

/// Which kernel settings a pod may ask for: safe ones of this kernel, and what the operator allows.
/// Threads: immutable.
/// Errors: none here; bad patterns are refused with the configuration.
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
  /// Why the first one that may not be set may not; empty when all may.
  std::string WhyForbidden(const kube::PodSpec& spec) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace splitlet::sync_loop
