#pragma once

/// Checks of probes and lifecycle hooks; see validation_parts.h.

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

/// A container, and properties of its pod.
struct ContainerInPod {
  const Container& container;
  const PodSpec& spec;
  /// True for a regular container or a sidecar, which may have probes, lifecycle hooks and
  /// restarts.
  bool long_lived;
  const std::string& path;
};
void ValidateProbes(const ContainerInPod& checked, FieldErrors& errors);

}  // namespace splitlet::kube
