#pragma once

/// Text files of a stack, read and replaced whole. Called by what looks at a local stack and what
/// breaks it.
/// Threads: any.
/// Errors: of the file system; what cannot be read is empty.

#include <string>

#include "libs/base/status.h"

namespace splitlet::chaos {

std::string ReadAll(const std::string& path);

/// Written beside it first. Mode 0644; the caller makes a script executable again.
Status WriteByRename(const std::string& path, const std::string& content);

}  // namespace splitlet::chaos
