#pragma once

/// A directory below which mounts spread: what is mounted there shows in the mount namespaces of
/// containers that have it, and the other way round (mountPropagation HostToContainer and
/// Bidirectional).
/// Threads: any; calls block in the kernel.
/// Errors:  FAILED_PRECONDITION: something is mounted below it already, which a new mount on the
///          directory would hide. Others by errno; PERMISSION_DENIED where the process may not
///          mount.
/// Source:  docs/behaviour/machine.md, "Shared mounts"; mount_namespaces(7); kubelet MakeRShared.

#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::fs {

enum class Sharing {
  kShared,    // as it is
  kOwnMount,  // the directory is a mount, and a private one
  kPlain,     // it is part of a private mount, and nothing is mounted below it
  kOccupied,  // likewise, and something is
};
/// `mountinfo`: the text of /proc/self/mountinfo; `directory`: absolute and without links.
Sharing SharingOf(std::string_view mountinfo, const std::string& directory);

/// OK where it is shared already. On a machine whose root is private, as without systemd, the
/// directory becomes a mount of itself, which stays.
Status MakeShared(const std::string& directory);

}  // namespace splitlet::fs
