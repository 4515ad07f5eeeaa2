#pragma once

/// The table of paths: the handler of each, its ports and methods.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Paths".

#include <string>
#include <string_view>
#include <vector>

namespace splitlet::node_api {

enum class Surface {
  kSecured,   // requests are authenticated and authorized
  kReadOnly,  // no authentication; some paths only
  kHealthz,   // no authentication; /healthz and /healthz/ping, about this process alone
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
    kRedirect,  // to the same path with a slash
    kDisabled,  // 405 with `text`, for every method
    kServed,
  };
  Kind kind = Kind::kUnknown;
  Route route = Route::kHealthz;
  std::string text;
};

/// Which handlers are switched on.
struct Handlers {
  bool debugging = true;    // enableDebuggingHandlers
  bool system_logs = true;  // enableSystemLogHandler
  bool profiles = true;     // enableProfilingHandler
  bool flags = true;        // enableDebugFlagsHandler
  // Feature gates; without them the path is unknown.
  bool flagz = true;       // ComponentFlagz
  bool statusz = true;     // ComponentStatusz
  bool checkpoint = true;  // ContainerCheckpoint
};

/// `path`: decoded.
Match FindRoute(std::string_view path, Surface surface, const Handlers& handlers);

/// A path of the table, for tests that hold for every path.
struct ServedPath {
  std::string_view path;  // "/exec"
  bool itself = true, below = false;
};
/// All paths of the secured port.
std::vector<ServedPath> ServedPaths();

/// First steps of the paths of the secured port, sorted: "/configz".
std::vector<std::string> PathsOf(const Handlers& handlers);

/// "/exec"
std::string_view PathOf(Route route);
/// "GET, POST"; empty: any.
std::string_view MethodsOf(Route route);
bool TakesMethod(Route route, std::string_view method);
/// The route answers JSON, and the header `accept` excludes it.
bool IsUnacceptable(Route route, std::string_view accept);

}  // namespace splitlet::node_api
