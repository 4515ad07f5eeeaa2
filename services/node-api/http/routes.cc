#include "services/node-api/http/routes.h"

#include <algorithm>
#include <array>
#include <set>

namespace splitlet::node_api {
namespace {

struct Row {
  std::string_view path;
  Route route;
  enum class Below { kNot, kToo, kOnly } below;  // only: the path itself is sent to "path/"
  std::string_view methods;
  bool debugging;
  enum class ReadOnly { kServed, kDisabled, kUnknown } read_only;
};
using Below = Row::Below;
using ReadOnly = Row::ReadOnly;

constexpr auto kRows = std::to_array<Row>({
    {"/healthz", Route::kHealthz, Below::kToo, "", false, ReadOnly::kServed},
    {"/pods", Route::kPods, Below::kNot, "GET", false, ReadOnly::kServed},
    {"/stats", Route::kStats, Below::kOnly, "GET, POST", false, ReadOnly::kServed},
    {"/metrics", Route::kMetrics, Below::kNot, "", false, ReadOnly::kServed},
    {"/metrics/cadvisor", Route::kCadvisor, Below::kNot, "", false, ReadOnly::kServed},
    {"/metrics/resource", Route::kResource, Below::kNot, "", false, ReadOnly::kServed},
    {"/metrics/probes", Route::kProbes, Below::kNot, "", false, ReadOnly::kServed},
    {"/metrics/slis", Route::kSlis, Below::kNot, "", false, ReadOnly::kServed},
    {"/run", Route::kRun, Below::kToo, "POST", true, ReadOnly::kDisabled},
    {"/exec", Route::kExec, Below::kToo, "GET, POST", true, ReadOnly::kDisabled},
    {"/attach", Route::kAttach, Below::kToo, "GET, POST", true, ReadOnly::kDisabled},
    {"/portForward", Route::kPortForward, Below::kToo, "GET, POST", true, ReadOnly::kDisabled},
    {"/containerLogs", Route::kContainerLogs, Below::kToo, "GET", true, ReadOnly::kDisabled},
    {"/runningpods", Route::kRunningPods, Below::kOnly, "GET", true, ReadOnly::kDisabled},
    {"/logs", Route::kLogs, Below::kOnly, "GET", true, ReadOnly::kDisabled},
    {"/debug/pprof", Route::kProfile, Below::kOnly, "GET", true, ReadOnly::kDisabled},
    {"/debug/flags/v", Route::kDebugFlags, Below::kNot, "", true, ReadOnly::kUnknown},
    {"/configz", Route::kConfigz, Below::kNot, "", true, ReadOnly::kUnknown},
    {"/flagz", Route::kFlagz, Below::kNot, "", true, ReadOnly::kUnknown},
    {"/statusz", Route::kStatusz, Below::kNot, "", true, ReadOnly::kUnknown},
    {"/checkpoint", Route::kCheckpoint, Below::kOnly, "POST", true, ReadOnly::kUnknown},
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

/// The feature gate of the path, if it has one, is on.
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
