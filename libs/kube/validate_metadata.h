#pragma once

/// Checks a pod's names, labels, owners and annotations, including deprecated ones.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

std::string LowerCase(std::string text);
void ValidateMetadata(const Pod& pod, FieldErrors& errors);

}  // namespace splitlet::kube
