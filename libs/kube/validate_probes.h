#pragma once

/// The checks of probes and life-cycle hooks; see validation_parts.h.

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

/// A container with what its pod says of it.
struct ContainerInPod {
  const Container& container;
  const PodSpec& spec;
  /// A regular container or a sidecar: probes, life-cycle hooks and restarts are allowed.
  bool long_lived;
  const std::string& path;
};
void ValidateProbes(const ContainerInPod& checked, FieldErrors& errors);

}  // namespace splitlet::kube
