#pragma once

/// Why a container says it ended: its termination message file, or its log; text, and bounded.
/// Threads: any; reads block on the disk.
/// Errors: become the message, as a kubelet shows them.
/// Source: docs/behaviour/relist.md, "Termination message".

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace splitlet::cri {

inline constexpr uint64_t kMaxTerminationMessageBytes = 4096;
inline constexpr uint64_t kMaxLogMessageBytes = 2048;
inline constexpr size_t kMaxLogMessageLines = 80;
/// The runtime's own message and what the container wrote, together.
inline constexpr size_t kMaxMessageBytes = 8192 + 2;

/// The last `max_bytes` of a file, less when it is shorter. NOT_FOUND when there is none.
using TailReader =
    std::function<StatusOr<std::string>(const std::string& path, uint64_t max_bytes)>;

/// The container's message with what it wrote itself added, for an exited one; else as it is.
std::string ResolveMessage(const Container& container, const TailReader& read_tail);

/// The text of the last lines of a log in CRI's or Docker's format. `cut`: the first line may be
/// incomplete.
std::string LastLogLines(std::string_view log, bool cut);

}  // namespace splitlet::cri
