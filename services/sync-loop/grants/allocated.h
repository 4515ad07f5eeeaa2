#pragma once

/// The pod that goes to pod-worker: the wanted one, with the resources it was admitted with.
/// Threads: pure, any.
/// Errors: INVALID_ARGUMENT when one of the two does not parse.
/// Source: docs/behaviour/admission.md, "What pod-worker is told".

#include <string>

#include "libs/base/status.h"

namespace splitlet::sync_loop {

/// Both and the result are serialised pods. A container that was not there at admission keeps its
/// own resources.
StatusOr<std::string> WithAllocated(const std::string& wanted, const std::string& admitted);

}  // namespace splitlet::sync_loop
