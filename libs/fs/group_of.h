#pragma once

/// What the group of a file or directory is and may: the kernel's answer, or that of a fake.
/// Threads: any; blocks on the disk.
/// Errors:  by errno.
/// Units:   ids as on the host.
/// Source:  docs/behaviour/volumes.md, "Local volumes".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

struct OfGroup {
  uint32_t group = 0;
  uint32_t mode = 0;  // all bits of it, without the kind
  bool operator==(const OfGroup&) const = default;
};

/// Of what a link leads to.
StatusOr<OfGroup> GroupOf(const std::string& path);

/// GroupOf, or a fake.
using GroupReader = std::function<StatusOr<OfGroup>(const std::string& path)>;

}  // namespace splitlet::fs
