#pragma once

/// Files below the node's folder of logs, as Go's server of static files shows them.
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
  std::optional<https::Answer> answer;  // a folder's list, or an error
  HeldPath file;                        // without `answer`: the file to send
};
/// `path`: decoded, "/logs/...".
NodeLog FindNodeLog(fs::FileSystem& files, const PathHolder& hold, const std::string& folder,
                    std::string_view path);

}  // namespace splitlet::node_api
