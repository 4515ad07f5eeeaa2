#pragma once

/// The larger parts of the checks of a container; see validation_parts.h.

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateEnv(const Container& container, const PodFacts& facts, const std::string& path,
                 FieldErrors& errors);
/// `hooks`: probes and life-cycle hooks are allowed, as in regular containers and sidecars.
void ValidateProbes(const Container& container, const PodSpec& spec, bool hooks,
                    const std::string& path, FieldErrors& errors);

}  // namespace splitlet::kube
