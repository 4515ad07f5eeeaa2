#pragma once

/// Checks of a pod's placement: nodeName and nodeSelector, affinity, tolerations, spreading, gates,
/// claims.

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateScheduling(const PodSpec& spec, FieldErrors& errors);

}  // namespace splitlet::kube
