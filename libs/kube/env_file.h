#pragma once

/// Files of environment variables that a container writes for others of its pod (`fileKeyRef`):
/// lines KEY='value'. A value ends at its closing quote, may span lines, and is literal. Empty
/// lines and comments (#) may stand between variables.
/// Threads: pure, any.
/// Errors:  INVALID_ARGUMENT names the line; then no variable of the file counts.
/// Units:   bytes.
/// Source:  docs/behaviour/runtime-config.md, "Environment and command"; kubelet util/env.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::kube {

inline constexpr uint64_t kMaxEnvFile = 64u << 10;

StatusOr<std::map<std::string, std::string>> ParseEnvFile(std::string_view text);

}  // namespace splitlet::kube
