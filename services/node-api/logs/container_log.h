#pragma once

/// Opens the log of a container where its runtime has put it, and nothing else: a pod may have the
/// folder of logs as a volume that it writes, and lead a link from it to any file of the node.
/// No link is followed but one: Docker's, from the log to `<somewhere>/<id>/<id>-json.log`, with
/// the container's own id and no link on the way.
/// Threads: any; blocks on the disk.
/// Errors:  those of the system; PERMISSION_DENIED for a path outside of the folder, and for links.
/// Source:  docs/behaviour/node-api.md, "Logs of containers".

#include <string>

#include "libs/logs/log_file.h"

namespace splitlet::node_api {

/// Whether the path is below the folder, as far as its text says.
bool IsBelow(const std::string& path, const std::string& root);

/// `root`: podLogsDir.
logs::LogOpener OpenerOfContainer(const std::string& root, const std::string& container_id);

}  // namespace splitlet::node_api
