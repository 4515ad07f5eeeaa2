#pragma once

/// Checks of containers; see validation_parts.h.

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateContainers(const ValidationContext& context, FieldErrors& errors);

}  // namespace splitlet::kube
