#pragma once

/// Checks of resources of containers and the pod; see validation_parts.h.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateResources(const ResourceRequirements& resources, const ValidationContext& context,
                       const std::string& path, FieldErrors& errors);
void ValidatePodResources(const ValidationContext& context, FieldErrors& errors);

}  // namespace splitlet::kube
