#pragma once

/// Reads and replaces whole text files of a stack. Called by LocalNode and LocalFaults.
/// Threads: any.
/// Errors: of the file system; an unreadable file is empty.

#include <string>

#include "libs/base/status.h"

namespace splitlet::chaos {

std::string ReadAll(const std::string& path);

/// Writes a temporary file in the same folder and renames it. Mode 0644; the caller makes a script
/// executable again.
Status WriteByRename(const std::string& path, const std::string& content);

}  // namespace splitlet::chaos
