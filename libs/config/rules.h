#pragma once

/// Checks of a document as a whole; threads and errors as in schema.h.

#include <vector>

#include "libs/config/schema.h"

namespace splitlet::config {

/// Values that exclude or need each other, which no single field shows. Only for a document without
/// schema problems.
std::vector<ConfigProblem> CheckRules(const YAML::Node& document);

}  // namespace splitlet::config
