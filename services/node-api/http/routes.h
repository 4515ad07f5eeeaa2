#pragma once

/// The table of paths, with the handler, ports and methods of each.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Paths".

#include <string>
#include <string_view>
#include <vector>

namespace splitlet::node_api {

enum class Surface {
  kSecured,   // requests are authenticated and authorized
  kReadOnly,  // no authentication; some paths only
  kHealthz,   // no authentication; /healthz and /healthz/ping, for this process alone
};

enum class Route {
  kHealthz,
  kPods,
  kStats,
  kMetrics,
  kCadvisor,
  kResource,
  kProbes,
  kSlis,
  kRun,
  kExec,
  kAttach,
  kPortForward,
  kContainerLogs,
  kRunningPods,
  kLogs,
  kProfile,
  kDebugFlags,
  kConfigz,
  kFlagz,
  kStatusz,
  kCheckpoint,
};

struct Match {
  enum class Kind {
    kUnknown,   // 404, before authentication
    kRedirect,  // redirects to the same path with a slash
    kDisabled,  // 405 with `text`, for every method
    kServed,
  };
  Kind kind = Kind::kUnknown;
  Route route = Route::kHealthz;
  std::string text;
};

/// Enabled handlers.
struct Handlers {
  bool debugging = true;    // enableDebuggingHandlers
  bool system_logs = true;  // enableSystemLogHandler
  bool profiles = true;     // enableProfilingHandler
  bool flags = true;        // enableDebugFlagsHandler
  // Feature gates; a path whose gate is off is unknown.
  bool flagz = true;       // ComponentFlagz
  bool statusz = true;     // ComponentStatusz
  bool checkpoint = true;  // ContainerCheckpoint
};

/// `path`: decoded.
Match FindRoute(std::string_view path, Surface surface, const Handlers& handlers);

/// A path of the table, for tests that check every path.
struct ServedPath {
  std::string_view path;  // "/exec"
  bool itself = true, below = false;
};
/// All paths of the secured port.
std::vector<ServedPath> ServedPaths();

/// First components of the paths of the secured port, sorted: "/configz".
std::vector<std::string> PathsOf(const Handlers& handlers);

/// Returns "/exec".
std::string_view PathOf(Route route);
/// Returns "GET, POST"; empty: any method.
std::string_view MethodsOf(Route route);
bool TakesMethod(Route route, std::string_view method);
/// True if the route answers JSON and the header `accept` excludes JSON.
bool IsUnacceptable(Route route, std::string_view accept);

}  // namespace splitlet::node_api
