#pragma once

/// Opens a path below a folder whose contents an attacker may change at the same time, and holds
/// it, so that a later rename changes nothing. Links are followed only if they lead below the
/// folder; absolute links too.
/// Threads: any; blocks on the disk.
/// Errors:  those of the system; PERMISSION_DENIED for a path that leads out of the folder.
/// Source:  docs/behaviour/node-api.md, "Logs of the node" and "Logs of containers".

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::node_api {

struct HeldPath {
  std::shared_ptr<const fs::Fd> held;  // must live as long as `path` is used
  std::string path;
};
/// `path`: below `root`, with or without a slash before it.
StatusOr<HeldPath> HoldBelow(const std::string& root, const std::string& path);
/// Holds `path` without following links: a link at the end is held itself; a link before the end is
/// PERMISSION_DENIED.
StatusOr<HeldPath> HoldWithoutLinks(const std::string& root, const std::string& path);
/// HoldBelow, or a fake.
using PathHolder =
    std::function<StatusOr<HeldPath>(const std::string& root, const std::string& path)>;

/// Reads the whole file; RESOURCE_EXHAUSTED if it is longer than `max_bytes`.
StatusOr<std::string> ReadBelow(const std::string& root, const std::string& path,
                                uint64_t max_bytes);

}  // namespace splitlet::node_api
