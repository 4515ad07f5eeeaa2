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

namespace splitlet::node_api {

struct NodeLog {
  std::optional<https::Answer> answer;  // of a folder, or of what is not there
  std::string path;                     // else: of the file to be sent
};
/// `path`: decoded, "/logs/...".
NodeLog FindNodeLog(fs::FileSystem& files, const std::string& folder, std::string_view path);

}  // namespace splitlet::node_api
