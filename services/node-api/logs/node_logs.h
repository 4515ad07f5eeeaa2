#pragma once

/// Serves files below the node's log folder like Go's static file server.
/// Threads: a strand; blocks on the disk.
/// Errors: as answers.
/// Source: docs/behaviour/node-api.md, "Logs of the node".

#include <optional>
#include <string>
#include <string_view>

#include "libs/fs/file_system.h"
#include "libs/https/server.h"
#include "services/node-api/logs/hold_below.h"

namespace splitlet::node_api {

struct NodeLog {
  std::optional<https::Answer> answer;  // a folder's page, or an error
  HeldPath file;                        // if `answer` is empty: the file to send
};
/// `path`: decoded, "/logs/...".
NodeLog FindNodeLog(fs::FileSystem& files, const PathHolder& hold, const std::string& folder,
                    std::string_view path);

}  // namespace splitlet::node_api
