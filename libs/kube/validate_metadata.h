#pragma once

/// Checks of a pod's names, labels, owners and annotations, deprecated ones too.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

std::string LowerCase(std::string text);
void ValidateMetadata(const Pod& pod, FieldErrors& errors);

}  // namespace splitlet::kube
