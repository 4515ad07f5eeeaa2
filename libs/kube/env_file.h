#pragma once

/// Files of environment variables that a container writes for others of its pod (`fileKeyRef`):
/// lines KEY='value'. A value goes on to its closing quote, over lines too, and is taken as it is;
/// between variables there may be empty lines and comments (#).
/// Threads: pure, any.
/// Errors:  INVALID_ARGUMENT names the line; nothing of such a file counts.
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
