#pragma once

/// Opens the log of a container at the runtime's path, and no other file, because a pod with the
/// log folder as a volume could put a link to any file of the node there. It follows one link only,
/// Docker's: from the log to `<somewhere>/<id>/<id>-json.log`, with the container's own id and no
/// link on the way.
/// Threads: any; blocks on the disk.
/// Errors:  those of the system; PERMISSION_DENIED for a path outside the folder, and for links.
/// Source:  docs/behaviour/node-api.md, "Logs of containers".

#include <string>

#include "libs/logs/log_file.h"

namespace splitlet::node_api {

/// `root`: podLogsDir.
logs::LogOpener OpenerOfContainer(const std::string& root, const std::string& container_id);

}  // namespace splitlet::node_api
