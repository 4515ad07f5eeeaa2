#pragma once

/// Opens what is below a folder that somebody hostile may fill and change meanwhile, and holds it,
/// so that it stays the same whatever becomes of its name. Links are followed, if at all, as long
/// as they lead to what is below the folder, absolute ones too.
/// Threads: any; blocks on the disk.
/// Errors:  those of the system; PERMISSION_DENIED for a way that leads out of the folder.
/// Source:  docs/behaviour/node-api.md, "Logs of the node" and "Logs of containers".

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::node_api {

struct HeldPath {
  std::shared_ptr<const fs::Fd> held;  // as long as `path` is used
  std::string path;
};
/// `path`: below `root`, with or without a slash before it.
StatusOr<HeldPath> HoldBelow(const std::string& root, const std::string& path);
/// The same, following no link: one at the end is held itself, one on the way is PERMISSION_DENIED.
StatusOr<HeldPath> HoldWithoutLinks(const std::string& root, const std::string& path);
/// As it is passed in.
using PathHolder =
    std::function<StatusOr<HeldPath>(const std::string& root, const std::string& path)>;

/// The whole file; RESOURCE_EXHAUSTED when it is longer than `max_bytes`.
StatusOr<std::string> ReadBelow(const std::string& root, const std::string& path,
                                uint64_t max_bytes);

}  // namespace splitlet::node_api
