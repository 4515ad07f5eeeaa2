#pragma once

/// Files below the node's folder of logs, as a server of static files shows them.
/// Threads: a strand; it blocks on the disk.
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
  std::optional<https::Answer> answer;  // of a folder, or of what is not there
  HeldPath file;                        // else: that is to be sent
};
/// `path`: decoded, "/logs/...".
NodeLog FindNodeLog(fs::FileSystem& files, const PathHolder& hold, const std::string& folder,
                    std::string_view path);

}  // namespace splitlet::node_api
