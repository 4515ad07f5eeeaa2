#pragma once

/// Text of the files in which the kernel publishes stats.
/// Threads: a strand; reading blocks.
/// Errors:  none: a file that cannot be read is empty.
/// Source:  docs/behaviour/node-api.md, "Figures"; proc(5).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libs/fs/file_system.h"

namespace splitlet::gc {

inline constexpr uint64_t kNanosOfTick = 10'000'000;  // USER_HZ is 100 on every system

std::string ReadOrEmpty(fs::FileSystem& files, const std::string& path);
/// The number that is the whole content of `file`.
std::optional<uint64_t> NumberIn(std::string_view file);

}  // namespace splitlet::gc
