#pragma once

/// Checks of privileges; see validation_parts.h.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateSecurity(const PodSpec& spec, FieldErrors& errors);
void ValidateContainerSecurity(const Container& container, const PodSpec& spec,
                               const std::string& path, FieldErrors& errors);

}  // namespace splitlet::kube
