#pragma once

/// Limits and modes of certificate and key files.
/// Threads: any.
/// Errors: none.
/// Units: bytes.

#include <cstdint>

namespace splitlet::status {

inline constexpr uint64_t kMaxPemFile = 1u << 20;
/// Mode of their folder.
inline constexpr uint32_t kPemFolderMode = 0755;

}  // namespace splitlet::status
