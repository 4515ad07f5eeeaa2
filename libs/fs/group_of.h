#pragma once

/// Group and mode of a file or directory: the kernel's answer, or that of a fake.
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
  uint32_t mode = 0;  // all bits but the file type
  bool operator==(const OfGroup&) const = default;
};

/// Follows links.
StatusOr<OfGroup> GroupOf(const std::string& path);

/// GroupOf, or a fake.
using GroupReader = std::function<StatusOr<OfGroup>(const std::string& path)>;

}  // namespace splitlet::fs
