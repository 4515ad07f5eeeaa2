#pragma once

/// Queries of the node's logs: services in the journal or in files, or one file.
/// Threads: reading a query is pure; RunNodeLogQuery blocks, on a strand.
/// Errors:  as answers; a missing log of a service is a line in the text.
/// Source:  docs/behaviour/node-api.md, "Logs of the node"; kubelet nodeLogQuery.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/fs/read_within.h"
#include "libs/https/server.h"
#include "libs/process/run_program.h"
#include "services/node-api/http/url.h"

namespace splitlet::node_api {

struct NodeLogQuery {
  std::vector<std::string> services, files;
  std::optional<int64_t> since_ns, until_ns;  // in ns since the epoch
  std::optional<int64_t> tail_lines, boot;
  std::string pattern;
  bool has_options() const;
};

struct NodeLogAsked {
  bool any = false;  // false: not a query, but a request for the file server
  std::optional<https::Answer> refusal;
  NodeLogQuery query;
};
NodeLogAsked ReadNodeLogQuery(const Query& query);

/// Arguments of journalctl for these services.
std::vector<std::string> JournalArguments(const NodeLogQuery& query,
                                          const std::vector<std::string>& services);

struct NodeLogSources {
  process::ProgramRunner run;
  fs::WithinReader read;
  std::string folder;  // "/var/log"
};
inline constexpr Duration kNodeLogLimit = std::chrono::seconds{30};
inline constexpr uint64_t kNodeLogBytes = 8u << 20;  // limit of an answer; above it an error text
                                                     // follows
https::Answer RunNodeLogQuery(const NodeLogSources& from, const NodeLogQuery& query);

}  // namespace splitlet::node_api
