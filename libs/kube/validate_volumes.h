#pragma once

/// Checks of volumes; see validation_parts.h.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateVolumes(const PodSpec& spec, FieldErrors& errors);

}  // namespace splitlet::kube
