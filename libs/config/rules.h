#pragma once

/// Checks of a document as a whole; threads and errors as in schema.h.

#include <vector>

#include "libs/config/schema.h"

namespace splitlet::config {

/// Checks values that exclude or need each other across fields. Only for a document without schema
/// problems.
std::vector<ConfigProblem> CheckRules(const YAML::Node& document);

}  // namespace splitlet::config
