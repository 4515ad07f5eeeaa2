#pragma once

/// Parses the query of a request for a container's log.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Logs of containers".

#include <optional>

#include "libs/base/clock.h"
#include "libs/https/server.h"
#include "libs/logs/log_reader.h"
#include "services/node-api/http/url.h"

namespace splitlet::node_api {

struct LogQuery {
  std::optional<https::Answer> refusal;
  logs::LogOptions options;
  bool previous = false;
};
LogQuery ReadLogQuery(const Query& query, WallTime now);

}  // namespace splitlet::node_api
