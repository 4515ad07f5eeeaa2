#pragma once

/// What the files of certificates and keys have in common.
/// Threads: any.
/// Errors: none.
/// Units: bytes.

#include <cstdint>

namespace splitlet::status {

inline constexpr uint64_t kMaxPemFile = 1u << 20;
/// Of the directory that they lie in.
inline constexpr uint32_t kPemFolderMode = 0755;

}  // namespace splitlet::status
