#pragma once

/// Chooses the log file of a container.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Logs of containers".

#include <optional>
#include <string>

#include "libs/https/server.h"
#include "services/node-api/pods/pod_views.h"

namespace splitlet::node_api {

struct LogChoice {
  std::optional<https::Answer> refusal;
  std::string path, container_id;
  bool running = false;
};
struct LogAsked {
  std::string container;
  bool previous = false;
  std::string logs_dir;  // paths outside of this folder are refused
};
LogChoice ChooseLog(const PodSeen& seen, const LogAsked& asked);

}  // namespace splitlet::node_api
