#pragma once

/// The message of a container's exit: its termination message file, or its log; bounded text.
/// Threads: any; reads block on the disk.
/// Errors: become part of the message, as in a kubelet.
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
/// Joins the runtime's message and the container's.
inline constexpr size_t kMaxMessageBytes = 8192 + 2;

/// The last `max_bytes` of a file, or the whole file if it is shorter. NOT_FOUND if it does not
/// exist.
using TailReader =
    std::function<StatusOr<std::string>(const std::string& path, uint64_t max_bytes)>;

/// For an exited container: the runtime's message and the container's text; otherwise the runtime's
/// message.
std::string ResolveMessage(const Container& container, const TailReader& read_tail);

/// The last lines of a log in CRI's or Docker's format, as text. `cut`: the first line may be
/// incomplete.
std::string LastLogLines(std::string_view log, bool cut);

}  // namespace splitlet::cri
