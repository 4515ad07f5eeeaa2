#pragma once

/// The checks of environment variables; see validation_parts.h.

#include <string>

#include "libs/kube/validation_parts.h"

namespace splitlet::kube {

void ValidateEnv(const Container& container, const ValidationContext& context,
                 const std::string& path, FieldErrors& errors);

}  // namespace splitlet::kube
