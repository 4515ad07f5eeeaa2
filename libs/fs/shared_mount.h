#pragma once

/// Makes a directory a shared mount, so that mounts below it propagate to containers that use the
/// directory, and back (mountPropagation HostToContainer and Bidirectional).
/// Threads: any; calls block in the kernel.
/// Errors:  FAILED_PRECONDITION: something is mounted below the directory already, and a new mount
///          on the directory would hide it. Others by errno; PERMISSION_DENIED if the process may
///          not mount.
/// Source:  docs/behaviour/machine.md, "Shared mounts"; mount_namespaces(7); kubelet MakeRShared.

#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::fs {

enum class Sharing {
  kShared,    // nothing to do
  kOwnMount,  // the directory is a mount, and a private one
  kPlain,     // part of a private mount; nothing is mounted below it
  kOccupied,  // part of a private mount; something is mounted below it
};
/// `mountinfo`: the text of /proc/self/mountinfo; `directory`: absolute and without links.
Sharing SharingOf(std::string_view mountinfo, const std::string& directory);

/// OK if the directory is shared already. On a machine with a private root, as without systemd, the
/// directory is bound to itself, and this mount stays.
Status MakeShared(const std::string& directory);

}  // namespace splitlet::fs
