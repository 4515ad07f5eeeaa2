#pragma once

/// The pod in a grant: the wanted pod with the resources that it was admitted with.
/// Threads: pure, any.
/// Errors: INVALID_ARGUMENT when one of the two pods cannot be parsed.
/// Source: docs/behaviour/admission.md, "Calls to pod-worker".

#include <string>

#include "libs/base/status.h"

namespace splitlet::sync_loop {

/// Both pods and the result are serialised. A container that was added after admission keeps its
/// own resources.
StatusOr<std::string> WithAllocated(const std::string& wanted, const std::string& admitted);

}  // namespace splitlet::sync_loop
