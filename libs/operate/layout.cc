#include "libs/operate/layout.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "libs/base/processes.h"

namespace splitlet::operate {
namespace {

/// The first existing path; the first of all if none exists.
std::string FirstOf(const std::vector<std::string>& paths) {
  std::error_code error;
  for (const std::string& path : paths)
    if (std::filesystem::exists(path, error)) return path;
  return paths.front();
}

/// True for a compose stack: the runtime runs in the stack's network namespace, not on the host.
bool HasOwnRuntime() {
  std::ifstream file("endpoint");
  std::string endpoint;
  return !std::getline(file, endpoint) || !endpoint.starts_with("unix:///");
}

}  // namespace

StatusOr<Layout> FindLayout(const std::optional<std::string>& top) {
  Layout layout;
  // Not for a systemd service, which gets its password by another path.
  if (const char* given = getenv("SPLITLET_RECORDER_CREDS")) layout.recorder_creds = given;
  if (!top) {
    layout.bus.ca = FirstOf({layout.bus.ca, "/etc/splitlet/bus-tls/current/ca.pem"});
    return layout;
  }
  if (chdir(top->c_str()) != 0) return Annotate(ErrnoStatus(errno), "--state-dir " + *top);
  std::error_code error;
  layout.stopped = !std::filesystem::is_directory("run", error);
  if (layout.stopped && !std::filesystem::is_directory("log", error) &&
      !std::filesystem::is_directory("recorder", error))
    return NotFound(
        "--state-dir {}: there is no stack (no folder run); make run starts one, and "
        "docker compose up one in compose/.run",
        *top);
  layout.top = *top;
  layout.supervised = std::filesystem::exists("sv", error);
  layout.compose = !layout.supervised && std::filesystem::exists("../docker-compose.yml", error);
  layout.run_dir = "run";
  layout.state_dir = "state";
  layout.manifests = "manifests";
  layout.bus.creds = FirstOf({"nats/creds/ctl", "etc/bus/ctl.creds"});
  layout.bus.ca = "nats/tls/current/ca.pem";
  if (layout.compose)
    layout.pod_logs = "logs";
  else
    layout.process_logs = "log";
  layout.recorder = "recorder";
  layout.recorder_creds = FirstOf({"nats/creds/recorder", "etc/bus/recorder.creds"});
  std::ifstream port("nats/port");
  std::string number;
  if (port >> number) layout.bus.url = "nats://127.0.0.1:" + number;
  if (layout.compose) layout.bus.network_of = layout.run_dir;
  if (layout.compose && HasOwnRuntime()) layout.streams_of = layout.run_dir;
  return layout;
}

bool IsUp(const Layout& layout) {
  std::error_code error;
  return !layout.stopped && (!layout.supervised || std::filesystem::exists("sv", error));
}

}  // namespace splitlet::operate
