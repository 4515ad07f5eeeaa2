#pragma once

/// Names, labels, owners and annotations of a pod; what annotations of old ask for.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

std::string LowerCase(std::string text);
void ValidateMetadata(const Pod& pod, FieldErrors& errors);

}  // namespace splitlet::kube
