#include "services/node-api/http/routes.h"

#include <algorithm>
#include <array>
#include <set>

namespace splitlet::node_api {
namespace {

struct Row {
  // Paths below: not served, served too, or served instead; in the last case the path itself
  // redirects to "path/".
  enum class Below { kNot, kToo, kOnly };
  enum class ReadOnly { kServed, kDisabled, kUnknown };  // behaviour on the read-only port
  std::string_view path;
  Route route = Route::kHealthz;
  Below below = Below::kNot;
  std::string_view methods = {};  // "GET, POST"; empty: any
  bool debugging = false;         // needs enableDebuggingHandlers
  ReadOnly read_only = ReadOnly::kServed;
};
using Below = Row::Below;
using ReadOnly = Row::ReadOnly;

constexpr auto kRows = std::to_array<Row>({
    {.path = "/healthz", .route = Route::kHealthz, .below = Below::kToo},
    {.path = "/pods", .route = Route::kPods, .methods = "GET"},
    {.path = "/stats", .route = Route::kStats, .below = Below::kOnly, .methods = "GET, POST"},
    {.path = "/metrics", .route = Route::kMetrics},
    {.path = "/metrics/cadvisor", .route = Route::kCadvisor},
    {.path = "/metrics/resource", .route = Route::kResource},
    {.path = "/metrics/probes", .route = Route::kProbes},
    {.path = "/metrics/slis", .route = Route::kSlis},
    {.path = "/run",
     .route = Route::kRun,
     .below = Below::kToo,
     .methods = "POST",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/exec",
     .route = Route::kExec,
     .below = Below::kToo,
     .methods = "GET, POST",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/attach",
     .route = Route::kAttach,
     .below = Below::kToo,
     .methods = "GET, POST",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/portForward",
     .route = Route::kPortForward,
     .below = Below::kToo,
     .methods = "GET, POST",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/containerLogs",
     .route = Route::kContainerLogs,
     .below = Below::kToo,
     .methods = "GET",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/runningpods",
     .route = Route::kRunningPods,
     .below = Below::kOnly,
     .methods = "GET",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/logs",
     .route = Route::kLogs,
     .below = Below::kOnly,
     .methods = "GET",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/debug/pprof",
     .route = Route::kProfile,
     .below = Below::kOnly,
     .methods = "GET",
     .debugging = true,
     .read_only = ReadOnly::kDisabled},
    {.path = "/debug/flags/v",
     .route = Route::kDebugFlags,
     .debugging = true,
     .read_only = ReadOnly::kUnknown},
    {.path = "/configz",
     .route = Route::kConfigz,
     .debugging = true,
     .read_only = ReadOnly::kUnknown},
    {.path = "/flagz", .route = Route::kFlagz, .debugging = true, .read_only = ReadOnly::kUnknown},
    {.path = "/statusz",
     .route = Route::kStatusz,
     .debugging = true,
     .read_only = ReadOnly::kUnknown},
    {.path = "/checkpoint",
     .route = Route::kCheckpoint,
     .below = Below::kOnly,
     .methods = "POST",
     .debugging = true,
     .read_only = ReadOnly::kUnknown},
});

const Row* RowOf(std::string_view path) {
  if (path == "/pods/") path.remove_suffix(1);
  const auto row = std::ranges::find_if(kRows, [path](const Row& each) {
    if (path == each.path) return true;
    return each.below != Below::kNot && path.starts_with(each.path) &&
           path[each.path.size()] == '/';
  });
  return row == kRows.end() ? nullptr : row;
}

const Row& RowOf(Route route) { return *std::ranges::find(kRows, route, &Row::route); }

/// True if the path has no feature gate, or its gate is on.
bool IsThere(const Row& row, const Handlers& handlers) {
  if (row.route == Route::kFlagz) return handlers.flagz;
  if (row.route == Route::kStatusz) return handlers.statusz;
  return row.route != Route::kCheckpoint || handlers.checkpoint;
}

Match Disabled(const Row& row, const char* text) {
  return {.kind = Match::Kind::kDisabled, .route = row.route, .text = text};
}

}  // namespace

Match FindRoute(std::string_view path, Surface surface, const Handlers& handlers) {
  const Row* row = RowOf(path);
  if (row == nullptr || !IsThere(*row, handlers)) return {};
  if (surface == Surface::kHealthz)
    return path == "/healthz" || path == "/healthz/ping"
               ? Match{.kind = Match::Kind::kServed, .route = row->route, .text = ""}
               : Match{};
  const bool closed = row->debugging && (surface == Surface::kReadOnly || !handlers.debugging);
  if (closed && row->read_only == ReadOnly::kUnknown) return {};
  if (path == row->path && row->below == Below::kOnly)
    return {.kind = Match::Kind::kRedirect, .route = row->route, .text = ""};
  if (closed) return Disabled(*row, "Debug endpoints are disabled.");
  if (row->route == Route::kLogs && !handlers.system_logs)
    return Disabled(*row, "logs endpoint is disabled.");
  if (row->route == Route::kProfile && !handlers.profiles)
    return Disabled(*row, "profiling endpoint is disabled.");
  if (row->route == Route::kDebugFlags && !handlers.flags)
    return Disabled(*row, "flags endpoint is disabled.");
  return {.kind = Match::Kind::kServed, .route = row->route, .text = ""};
}

std::vector<ServedPath> ServedPaths() {
  std::vector<ServedPath> paths;
  for (const Row& row : kRows)
    paths.push_back(
        {.path = row.path, .itself = row.below != Below::kOnly, .below = row.below != Below::kNot});
  return paths;
}

std::vector<std::string> PathsOf(const Handlers& handlers) {
  std::set<std::string> paths;
  for (const Row& row : kRows)
    if (IsThere(row, handlers) && (!row.debugging || handlers.debugging))
      paths.emplace(row.path.substr(0, row.path.find('/', 1)));
  return {paths.begin(), paths.end()};
}

std::string_view PathOf(Route route) { return RowOf(route).path; }

std::string_view MethodsOf(Route route) { return RowOf(route).methods; }

bool TakesMethod(Route route, std::string_view method) {
  std::string_view methods = MethodsOf(route);
  if (methods.empty()) return true;
  while (!methods.empty()) {
    const auto comma = methods.find(", ");
    if (methods.substr(0, comma) == method) return true;
    methods.remove_prefix(comma == std::string_view::npos ? methods.size() : comma + 2);
  }
  return false;
}

bool IsUnacceptable(Route route, std::string_view accept) {
  const bool json = route == Route::kPods || route == Route::kStats ||
                    route == Route::kRunningPods || route == Route::kCheckpoint;
  if (!json || accept.empty()) return false;
  for (const std::string_view taken : {"*/*", "application/*", "application/json"})
    if (accept.find(taken) != std::string_view::npos) return false;
  return true;
}

}  // namespace splitlet::node_api
